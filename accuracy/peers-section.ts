/** Figures of other programs and papers, next to those of this report, on the recordings named. No command here computes any of them: the
 *  programs are not among the packages that this project can install. Each row names its source; the table ranks nobody. */
import type { Section } from './section.ts';

type Peer = Readonly<{ what: string; who: string; on: string; figure: string; from: string }>;

/** With WFDB's bxb (beats) or the same rules. */
const byHand = 'measured once by the maintainers; not reproduced here';
const published = (doi: string): string => `as published, doi:${doi}; not reproduced here`;
const all48 = 'mitdb, all 48 records, first lead';
const peers: readonly Peer[] = [
  { what: 'R peaks: Se, +P, F1, %', who: 'WFDB 10.7 gqrs with gqpost', on: all48, figure: '99.710, 99.829, 99.769', from: byHand },
  { what: 'R peaks: Se, +P, F1, %', who: 'Pan-Tompkins++ (Niaz, Imtiaz)', on: all48, figure: '99.505, 99.886, 99.695', from: byHand },
  { what: 'R peaks: Se, +P, F1, %', who: 'wfdb-python XQRS', on: all48, figure: '99.351, 99.739, 99.545', from: byHand },
  { what: 'R peaks: Se, +P, F1, %', who: 'sleepecg 0.6dev', on: all48, figure: '99.189, 99.329, 99.259', from: byHand },
  { what: 'R peaks: Se, +P, F1, %', who: 'NeuroKit2, default', on: all48, figure: '98.842, 98.334, 98.587', from: byHand },
  {
    what: 'R peaks: Se, +P, %',
    who: 'Kim & Shin 2016',
    on: 'mitdb',
    figure: '99.90, 99.91',
    from: published('10.1371/journal.pone.0150144'),
  },
  { what: 'R peaks: F1, %', who: 'WFDB 10.7 gqrs with gqpost', on: 'qtdb', figure: '99.853', from: byHand },
  {
    what: 'R peaks, electrode motion 12, 6, 0 dB: F1 %',
    who: 'WFDB 10.7 gqrs with gqpost',
    on: 'mitdb, the noise of this report',
    figure: '99.02, 95.68, 84.09',
    from: byHand,
  },
  { what: 'pulse beats: F1 %', who: 'Elgendi 2013 (NeuroKit2)', on: 'bidmc; spc, all recordings', figure: '98.98; 83.4', from: byHand },
  { what: 'pulse beats: F1 %', who: 'qppg (PhysioNet toolbox)', on: 'bidmc; spc, all recordings', figure: '98.21; 86.9', from: byHand },
  { what: 'pulse beats: F1 %', who: 'MSPTDfast 2 (NeuroKit2)', on: 'bidmc; spc, all recordings', figure: '98.13; 86.4', from: byHand },
  {
    what: 'heart rate in motion: mean error, bpm',
    who: 'WFPV (Temko 2017)',
    on: 'spc, all 23 recordings',
    figure: '1.97',
    from: published('10.1109/TBME.2017.2676243'),
  },
  {
    what: 'RMSSD, 6 % mixed faults; clean: median error %',
    who: 'NeuroKit2, "Kubios"',
    on: '37 windows of 5 min',
    figure: '13.6; 3.3',
    from: byHand,
  },
  {
    what: 'onset of P; QRS: onset, end; end of T: mean, SD, ms',
    who: 'Martinez et al. 2004',
    on: 'qtdb',
    figure: '2.0, 14.8; 4.6, 7.7; 0.8, 8.7; -1.6, 18.1',
    from: published('10.1109/TBME.2003.821031'),
  },
];

export function run(): Promise<Section> {
  return Promise.resolve({
    title: 'Other programs and papers, measured elsewhere',
    rows: [
      ['figure', 'program or paper', 'on', 'value', 'from'],
      ...peers.map(({ what, who, on, figure, from }) => [what, who, on, figure, from]),
    ],
    json: peers,
    notes: [
      'No command of this repository reproduces any of these figures, and recordings and rules differ from those above: where the field stands, not a ranking. A published figure is in the abstract or a table of its paper.',
    ],
  });
}
