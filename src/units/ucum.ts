/** Units by UCUM, the Unified Code for Units of Measure, which FHIR asks for: is a text one, and how would one write what it means? Symbols
 *  are those of ucum-essence.xml 2.2 (https://ucum.org), case-sensitive; no library, because only powers of ten are converted
 *  (powers-of-ten.ts). */

const symbols = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const prefixes = symbols('Y Z E P T G M k h da d c m u n p f a z y Ki Mi Gi Ti');
/** Those that take a prefix. */
const metric = symbols(`
  m s g rad K C cd mol sr Hz N Pa J W A V F Ohm S Wb Cel T H lm lx Bq Gy Sv l L ar t bar u eV pc [c] [h] [k] [eps_0] [mu_0] [e]
  [m_e] [m_p] [G] [g] [ly] gf Ky Gal dyn erg P Bi St Mx G Oe Gb sb Lmb ph Ci R RAD REM cal_[15] cal_[20] cal_m cal_IT cal_th cal tex
  m[H2O] m[Hg] eq osm g% kat U [iU] [IU] Np B B[SPL] B[V] B[mV] B[uV] B[10.nV] B[W] B[kW] st mho bit By Bd`);
const plain = symbols(`
  10* 10^ [pi] % [ppth] [ppm] [ppb] [pptr] gon deg ' '' min h d a_t a_j a_g a wk mo_s mo_j mo_g mo AU atm [lbf_av] [in_i] [ft_i]
  [yd_i] [mi_i] [fth_i] [nmi_i] [kn_i] [sin_i] [sft_i] [syd_i] [cin_i] [cft_i] [cyd_i] [bf_i] [cr_i] [mil_i] [cml_i] [hd_i] [ft_us]
  [yd_us] [in_us] [rd_us] [ch_us] [lk_us] [rch_us] [rlk_us] [fth_us] [fur_us] [mi_us] [acr_us] [srd_us] [smi_us] [sct] [twp]
  [mil_us] [in_br] [ft_br] [rd_br] [ch_br] [lk_br] [fth_br] [pc_br] [yd_br] [mi_br] [nmi_br] [kn_br] [acr_br] [gal_us] [bbl_us]
  [qt_us] [pt_us] [gil_us] [foz_us] [fdr_us] [min_us] [crd_us] [bu_us] [gal_wi] [pk_us] [dqt_us] [dpt_us] [tbs_us] [tsp_us] [cup_us]
  [foz_m] [cup_m] [tsp_m] [tbs_m] [gal_br] [pk_br] [bu_br] [qt_br] [pt_br] [gil_br] [foz_br] [fdr_br] [min_br] [gr] [lb_av] [oz_av]
  [dr_av] [scwt_av] [lcwt_av] [ston_av] [lton_av] [stone_av] [pwt_tr] [oz_tr] [lb_tr] [sc_ap] [dr_ap] [oz_ap] [lb_ap] [oz_m] [lne]
  [pnt] [pca] [pnt_pr] [pca_pr] [pied] [pouce] [ligne] [didot] [cicero] [degF] [degR] [degRe] [Cal] [Btu_39] [Btu_59] [Btu_60]
  [Btu_m] [Btu_IT] [Btu_th] [Btu] [HP] [den] [in_i'H2O] [in_i'Hg] [PRU] [wood'U] [diop] [p'diop] %[slope] [mesh_i] [Ch] [drp]
  [hnsf'U] [MET] [hp'_X] [hp'_C] [hp'_M] [hp'_Q] [hp_X] [hp_C] [hp_M] [hp_Q] [kp_X] [kp_C] [kp_M] [kp_Q] [pH] [S] [HPF] [LPF]
  [arb'U] [USP'U] [GPL'U] [MPL'U] [APL'U] [beth'U] [anti'Xa'U] [todd'U] [dye'U] [smgy'U] [bdsk'U] [ka'U] [knk'U] [mclg'U] [tb'U]
  [CCID_50] [TCID_50] [EID_50] [PFU] [FFU] [CFU] [IR] [BAU] [AU] [Amb'a'1'U] [PNU] [Lf] [D'ag'U] [FEU] [ELU] [EU] Ao b att [psi]
  circ sph [car_m] [car_Au] [smoot] [m/s2/Hz^(1/2)] [NTU] [FNU] bit_s`);

const pairs = (text: string): ReadonlyMap<string, string> =>
  new Map([...symbols(text)].map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));

/** Femtotonne, milliphot and kilophot: UCUM would have these, but nobody means them. */
const mistaken = symbols('ft mph kph');
/** Nor, as whole units, coulomb and farad; gauss, tesla and kelvin per litre are giga, tera and thousand as laboratories write them. */
const mistakenWhole = pairs(`
  C=Cel F=[degF] G/L=10*9/L Gpt/L=10*9/L T/L=10*12/L Tpt/L=10*12/L K/uL=10*3/uL M/uL=10*6/uL
  vol%=%{vol} Vol%=%{vol} Vol.-%=%{vol} ‰=[ppth]`);
const mistakenFor = (unit: string): string | undefined => mistakenWhole.get(unit.replaceAll(/[µμ]/g, 'u').replace(/l$/, 'L'));
/** What amounts are stated for: numbers with a unit, which UCUM has only in parentheses or as an annotation. */
const endings = [
  [/\/\s*24\s*(?:h|hrs?|hours?)$/, '/(24.h)'],
  [/\/\s*\(?1[.,]73\s*[.·]?\s*m\^?[2²]\)?$/, '/{1.73_m2}'],
] as const;

/** A symbol and its prefix, empty without one; null: no symbol. */
export function prefixAndSymbol(text: string): readonly [prefix: string, symbol: string] | null {
  if (mistaken.has(text)) return null;
  if (metric.has(text) || plain.has(text)) return ['', text];
  const length = [1, 2].find((length) => prefixes.has(text.slice(0, length)) && metric.has(text.slice(length)));
  return length === undefined ? null : [text.slice(0, length), text.slice(length)];
}

export const ANNOTATION = /\{[!-z|~]*\}/y;
export const POWER_OF_TEN = /10[*^](?:[+-]?\d+)?/y;
export const FACTOR = /\d+/y;
/** No symbol has a digit outside of brackets. */
export const SYMBOL = /(?:[A-Za-z%'_]|\[[^[\]]*\])+/y;
export const EXPONENT = /[+-]?\d+/y;

/** Is it a unit as UCUM's grammar has it: `mm[Hg]`, `/min`, `m/s2`, `10*3/uL`, `{steps}`, `kg{dry}`, `1`? Not so those that would be valid
 *  and are a mistake: `ft`, `mph`, `C`, `G/L`, `mL/min/1.73.m2`. */
export const isUcum = (unit: string): boolean =>
  mistakenFor(unit) === undefined && !endings.some(([ending]) => ending.test(unit)) && isTerm(unit);

/** As isUcum, with the mistakes: what is stored may be one. */
export function isTerm(unit: string): boolean {
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(unit)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  };
  const component = (): boolean => {
    if (unit[at] === '(') {
      at++;
      return term() && unit[at++] === ')';
    }
    if (take(ANNOTATION) !== null) return true;
    if (take(POWER_OF_TEN) === null) {
      if (take(FACTOR) !== null) return true;
      const symbol = take(SYMBOL);
      if (symbol === null || prefixAndSymbol(symbol) === null) return false;
      take(EXPONENT);
    }
    take(ANNOTATION);
    return true;
  };
  const term = (): boolean => {
    if (unit[at] === '/') at++;
    while (component()) {
      if (unit[at] !== '.' && unit[at] !== '/') return true;
      at++;
    }
    return false;
  };
  return term() && at === unit.length;
}

/** What people write, in small letters and without blanks, and what UCUM has for it. */
const meant = pairs(`
  bpm=/min rpm=/min percent=% mmhg=mm[Hg] cmh2o=cm[H2O] psi=[psi] ppm=[ppm] ppb=[ppb] iu=[IU] uiu=u[IU] ie=[IU] met=[MET] db=dB
  cel=Cel °c=Cel degc=Cel celsius=Cel degreescelsius=Cel °f=[degF] degf=[degF] fahrenheit=[degF] degreesfahrenheit=[degF] °=deg degree=deg
  lb=[lb_av] pound=[lb_av] oz=[oz_av] ounce=[oz_av] in=[in_i] inch=[in_i] inches=[in_i] ft=[ft_i] foot=[ft_i] feet=[ft_i]
  yd=[yd_i] yard=[yd_i] mi=[mi_i] mile=[mi_i] kph=km/h kmh=km/h mph=[mi_i]/h
  sec=s msec=ms usec=us min=min minute=min hr=h hour=h day=d week=wk month=mo yr=a year=a
  kg=kg gm=g mcg=ug ml=mL dl=dL cl=cL mcl=uL cc=mL cm=cm km=km mol=mol mmol=mmol umol=umol nmol=nmol pmol=pmol eq=eq meq=meq ueq=ueq mval=meq
  osm=osm mosm=mosm osmol=osm mosmol=mosm hz=Hz khz=kHz v=V kv=kV mv=mV uv=uV ma=mA ua=uA w=W kw=kW j=J kj=kJ pa=Pa kpa=kPa hpa=hPa bar=bar
  mbar=mbar kcal=kcal kilocalorie=kcal ukat=ukat nkat=nkat gy=Gy mgy=mGy sv=Sv msv=mSv bq=Bq kbq=kBq ω=Ohm kohm=kOhm kω=kOhm mω=mOhm uω=uOhm`);
/** Where capitals matter. */
const meantExactly = pairs(`
  Nm=N.m mM=mmol/L uM=umol/L nM=nmol/L pM=pmol/L Cal=[Cal] Wh=W.h kWh=kW.h mAh=mA.h MΩ=MOhm Mhz=MHz mIU=m[IU] miu=m[IU] kIU=k[IU] mIE=m[IU]`);
/** Units, but which? Of these, and of other symbols in wrong capitals (`mhz`, `UG`), no guess is better than one. */
const prefixed = [...metric].flatMap((symbol) => ['', ...prefixes].map((prefix) => `${prefix}${symbol}`));
const inSmallLetters = symbols(`unit calorie miu ${prefixed.join(' ').toLowerCase()}`);

const prefixWords = pairs('kilo=k hecto=h deci=d centi=c milli=m micro=u nano=n pico=p mega=M giga=G');
const unitWords = pairs(`
  gram=g gramme=g meter=m metre=m liter=L litre=L second=s volt=V ampere=A amp=A watt=W joule=J newton=N pascal=Pa hertz=Hz ohm=Ohm
  siemens=S mole=mol equivalent=eq osmole=osm radian=rad kelvin=K tesla=T bar=bar`);

function spelledOut(word: string): string | undefined {
  const [, prefix = '', rest = ''] = /^(kilo|hecto|deci|centi|milli|micro|nano|pico|mega|giga)?(.*)$/.exec(word) ?? [];
  const unit = unitWords.get(rest) ?? unitWords.get(rest.replace(/s$/, ''));
  return unit && `${prefixWords.get(prefix) ?? ''}${unit}`;
}

/** Undefined: an unknown word; null: no guess. */
function knownFor(word: string): string | null | undefined {
  const small = word.toLowerCase();
  const singular = small.replace(/s$/, '');
  const known = meantExactly.get(word) ?? meant.get(small) ?? meant.get(singular) ?? spelledOut(small);
  return known ?? ([small, singular].some((one) => inSmallLetters.has(one)) ? null : undefined);
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
const plainDigits = (text: string): string =>
  text
    .replaceAll(/[⁰¹²³⁴-⁹]/g, (digit) => `${SUPERSCRIPTS.indexOf(digit)}`)
    .replaceAll(/[⁻−]/g, '-')
    .replaceAll('⁺', '+');

/** How UCUM would have what a text probably means; null where that is no guess either. An unknown word becomes an annotation, which is
 *  right only where it is what is counted. */
export function ucumFor(text: string): Readonly<{ unit: string; isIfCounted: boolean }> | null {
  const whole = mistakenFor(text);
  if (whole !== undefined) return { unit: whole, isIfCounted: false };
  for (const [ending, written] of endings) {
    const amount = text.replace(ending, '');
    if (amount === text) continue;
    const of = isUcum(amount) ? { unit: amount, isIfCounted: false } : ucumFor(amount);
    return of && { ...of, unit: `${of.unit}${written}` };
  }
  // Powers of ten first: without its mark, 10⁹ would be 109.
  const powers = text
    .trim()
    .replace(/^[x×·*]\s*(?=10)/i, '')
    .replaceAll(/(?<![\d.,])10\s*(?:[*^]\s*([+−-]?\d+)|\^?([⁻⁺]?[⁰¹²³⁴-⁹]+))/g, (_, digits?: string, raised?: string) =>
      plainDigits(`10*${digits ?? raised}`),
    );
  // No other number has an exponent.
  if (/\d\s*[\^⁻⁺⁰¹²³⁴-⁹]/.test(powers)) return null;
  const spelled = plainDigits(powers)
    .replaceAll(/[µμ]/g, 'u')
    .replaceAll('^', '')
    .replaceAll(/\s*[·×]\s*|(?<=\d)\s*x\s*(?=10\*)|(?<!(?<![\d.,])10(?=\*[+-]?\d))\*/g, '.')
    .replaceAll(/\s*(?:\/|\bper\b)\s*/gi, '/');
  let isIfCounted = false;
  // In UG/ML the megalitre is no more likely than the millilitre.
  const isShouted = text === text.toUpperCase();
  const parts = spelled.split(/([./])/);
  const written = parts.map((part, i) => {
    const [, word = '', exponent = ''] = /^(.*?)([+-]?\d*)$/.exec(part) ?? [];
    if (word === '' || i % 2 === 1) return part;
    if (isTerm(part)) return isShouted && /^M[A-Z]/.test(part) ? null : part;
    const known = knownFor(word.replaceAll(/\s/g, ''));
    if (known === null) return null;
    if (known !== undefined) {
      if (!/.[./]/.test(known)) return `${known}${exponent}`;
      return exponent !== '' ? null : parts[i - 1] === '/' ? `(${known})` : known;
    }
    if (!/^[A-Za-z_-]+$/.test(word) || exponent !== '') return null;
    isIfCounted = true;
    return `{${word}}`;
  });
  const unit = written.includes(null) ? text : written.join('');
  return unit !== text && isUcum(unit) ? { unit, isIfCounted } : null;
}
