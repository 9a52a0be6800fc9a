/** Units by UCUM, the Unified Code for Units of Measure, which FHIR asks for: is a text one, and how would one write what it means? Symbols
 *  are those of ucum-essence.xml 2.2 (https://ucum.org), case-sensitive; no library, because nothing is converted here. */

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

function isSymbol(text: string): boolean {
  if (metric.has(text) || plain.has(text)) return true;
  return [1, 2].some((length) => prefixes.has(text.slice(0, length)) && metric.has(text.slice(length)));
}

const ANNOTATION = /\{[!-z|~]*\}/y;
const POWER_OF_TEN = /10[*^](?:[+-]?\d+)?/y;
const FACTOR = /\d+/y;
/** No symbol has a digit outside of brackets. */
const SYMBOL = /(?:[A-Za-z%'_]|\[[^[\]]*\])+/y;
const EXPONENT = /[+-]?\d+/y;

/** Is it a unit as UCUM's grammar has it: `mm[Hg]`, `/min`, `m/s2`, `10*3/uL`, `{steps}`, `kg{dry}`, `1`? */
export function isUcum(unit: string): boolean {
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
      if (symbol === null || !isSymbol(symbol)) return false;
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

/** What people write, in small letters, and what UCUM has for it. */
const meant: ReadonlyMap<string, string> = new Map(
  `
  bpm=/min rpm=/min percent=% mmhg=mm[Hg] cmh2o=cm[H2O] psi=[psi] ppm=[ppm] ppb=[ppb] iu=[IU]
  °c=Cel degc=Cel celsius=Cel °f=[degF] degf=[degF] fahrenheit=[degF] °=deg degree=deg
  lb=[lb_av] oz=[oz_av] in=[in_i] inch=[in_i] ft=[ft_i] yd=[yd_i] mi=[mi_i] mile=[mi_i] kph=km/h mph=[mi_i]/h
  sec=s second=s msec=ms millisecond=ms minute=min hr=h hour=h day=d week=wk month=mo yr=a year=a
  gram=g kilogram=kg milligram=mg meter=m metre=m kilometer=km kilometre=km centimeter=cm centimetre=cm liter=L litre=L
  ohm=Ohm ω=Ohm kω=kOhm hertz=Hz`
    .trim()
    .split(/\s+/)
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
);

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** How UCUM would have what a text probably means; null where that is no guess either. Unknown words become annotations, as what is
 *  counted. */
export function ucumFor(text: string): string | null {
  const spelled = text
    .trim()
    .replaceAll(/[⁰¹²³⁴-⁹]/g, (digit) => `${SUPERSCRIPTS.indexOf(digit)}`)
    .replaceAll(/[µμ]/g, 'u')
    .replaceAll('⁻', '-')
    .replaceAll('^', '')
    .replaceAll(/[·*×]/g, '.')
    .replaceAll(/\s*(?:\/|\bper\b)\s*/gi, '/');
  const unit = spelled
    .split(/([./])/)
    .map((part) => {
      const [, word = '', exponent = ''] = /^(.*?)([+-]?\d*)$/.exec(part) ?? [];
      if (word === '' || isUcum(part)) return part;
      const known = [word, word.replace(/s$/i, '')].map((one) => meant.get(one.toLowerCase())).find((one) => one !== undefined);
      return known === undefined ? (/^[A-Za-z_-]+$/.test(word) ? `{${word}}` : part) : `${known}${exponent}`;
    })
    .join('');
  return unit !== text && isUcum(unit) ? unit : null;
}
