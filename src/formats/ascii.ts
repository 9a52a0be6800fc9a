/** Text for headers that are ASCII: those of EDF and WFDB. */

const spelled: Readonly<Record<string, string>> = { μ: 'u', Ω: 'Ohm', '°': 'deg' };

/** Spells text in printable ASCII: µV as uV, °C as degC, kΩ as kOhm, é as e, anything else as `_`. Cut to their low byte instead, some
 *  characters are line feeds and spaces, which a header reads as its own. */
export function asciiOf(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\x20-\x7e]/gu, (character) => spelled[character] ?? '_');
}
