/** Parameters and limits of every method that is computed, from the constants that it is computed with. */
import * as beatShapes from '../ecg/beat-shapes.ts';
import * as ecgQuality from '../ecg/quality.ts';
import * as tWaves from '../ecg/t-waves.ts';
import * as eda from '../slow/eda.ts';
import * as beatValues from '../hrv/values.ts';
import * as complexity from '../hrv/complexity.ts';
import * as frequency from '../hrv/frequency.ts';
import * as geometric from '../hrv/geometric.ts';
import type { Method } from '../rows/methods.ts';
import * as heartSeen from '../engine/heart-seen.ts';
import * as motion from '../slow/motion.ts';
import * as pulseBeats from '../ppg/beats.ts';
import * as motionChannel from '../ppg/motion-channel.ts';
import * as motionRate from '../ppg/motion-hr.ts';
import * as ends from '../ppg/ends.ts';
import * as light from '../ppg/light.ts';
import * as polarity from '../ppg/polarity.ts';
import * as pulseWave from '../ppg/pulse-wave.ts';
import * as pulseWaves from '../engine/pulse-waves.ts';
import { pulseWaveFeatures } from '../rows/methods-pulse-wave.ts';
import * as motionFilter from '../ppg/motion-filter.ts';
import * as motionTrust from '../ppg/motion-trust.ts';
import * as ppgQuality from '../ppg/quality.ts';
import * as rPeaks from '../ecg/r-peaks.ts';
import * as rFeature from '../ecg/r-peaks-feature.ts';
import * as rFusion from '../ecg/r-peaks-fusion.ts';
import * as rPlaces from '../ecg/r-peaks-places.ts';
import * as rJumps from '../ecg/r-peaks-jumps.ts';
import * as rJudge from '../ecg/r-peaks-judge.ts';
import * as breathing from '../slow/respiration.ts';
import * as delineation from '../ecg/delineation.ts';
import * as mainsHum from '../ecg/mains-hum.ts';
import { runUs } from '../engine/burden.ts';
import * as intervals from '../engine/intervals.ts';
import * as rhythm from '../engine/rhythm.ts';
import * as steepness from '../engine/steepness.ts';
import * as burden from '../hrv/burden.ts';
import * as fibrillation from '../hrv/fibrillation.ts';
import * as modulation from '../slow/respiration-modulation.ts';
import * as origin from '../hrv/beat-origin.ts';
import * as oneBeatOff from '../hrv/one-beat-off.ts';
import * as bridged from '../hrv/bridged-beats.ts';
import * as correction from '../hrv/rr-correction.ts';
import { fusedEcgLeadsMax } from '../engine/groups.ts';
import * as spo2 from '../ppg/spo2.ts';
import * as temperature from '../slow/temperature.ts';

/** `unit` in UCUM, '1' for ratios and counts. */
export type MethodParameter = Readonly<{ name: string; value: number; unit: string; meaning: string }>;
export type MethodDetails = Readonly<{
  parameters: readonly MethodParameter[];
  /** Where the method ends: input it needs, when its values are suspect or absent, what it is known not to do. */
  limits: readonly string[];
}>;

const p = (name: string, value: number, unit: string, meaning: string): MethodParameter => ({ name, value, unit, meaning });

/** Of every measure of variability: which intervals count, and what follows for the flag. */
export const correctionParameters = [
  p('median_back', correction.medianBack, '1', 'intervals before one whose median it is compared with'),
  p('median_ahead', correction.medianAhead, '1', 'intervals after it that enter the same median'),
  p('outlier_share', correction.outlierShare, '1', 'an interval further than this from its local median is excluded'),
  p('spread_window', correction.spreadUs / 1e6, 's', 'past whose differences make the local spread'),
  p('jump_spreads', correction.firstSigmas, '1', 'a difference beyond this many local spreads excludes the interval'),
  p('jump_spreads_alert', correction.secondSigmas, '1', 'the same where faults are frequent'),
  p('alert_share', correction.alertShare, '1', 'share of excluded intervals from which faults are frequent'),
  p(
    'excluded_suspect',
    beatValues.excludedSuspect,
    '1',
    'share of excluded intervals above which a value is suspect; those next to a beat that is surely ectopic do not count',
  ),
  p('excluded_bad', beatValues.excludedBad, '1', 'share of excluded intervals above which a value is bad'),
  p('covered_good', beatValues.coveredGood, '1', 'suspect when intervals cover less of the window, as after a start or a gap'),
  p('bad_beats_max', beatValues.badBeatsMax, '1', 'bad when more of the beats are flagged 2; with any of them it is suspect'),
  p(
    'doubtful_suspect',
    beatValues.doubtfulSuspect,
    '1',
    'suspect when more of the beats are in doubt: flagged 1 or 2, unsure to the detector, or in motion',
  ),
  p('doubtful_bad', beatValues.doubtfulBad, '1', 'bad when more of them are'),
  p(
    'correction_max',
    beatValues.correctionMax,
    '1',
    'suspect when the value of all intervals is above this many times that of the accepted ones; not asked of the mean NN interval',
  ),
];

/** By how much the two ways to place beats may differ. */
const apartParameters = (source: 'ecg' | 'ppg', isSpread: boolean): readonly MethodParameter[] => {
  const { rWave, shape, upstroke } = beatValues.placings;
  const share = isSpread ? beatValues.apartSpreadMax : (source === 'ecg' ? rWave : upstroke).apartMax;
  const ways = source === 'ecg' ? 'R wave and whole QRS complex' : 'the middle of the upstroke, and where it is steepest,';
  return [
    p('apart_max', share, '1', `suspect when ${ways} place beats apart by more than this share of the value`),
    ...(source === 'ecg'
      ? [
          p('apart_min', rWave.apartMs, 'ms', 'and by more than this, root mean square'),
          p('by_shape_apart_min', shape.apartMs, 'ms', 'by more than this where beats are placed by the whole QRS complex'),
        ]
      : []),
  ];
};

/** Where beats may have been missed, or T waves taken for them. */
const hiddenParameters: readonly MethodParameter[] = [
  p('hidden_min', rhythm.HIDDEN_MIN, '1', 'steepness, over that of the beats before, from which a lone wave may be a beat not seen'),
  p('hidden_alone', rhythm.HIDDEN_ALONE, '1', 'so many times as steep as what is there all the time'),
  p('hidden_over_p', rhythm.HIDDEN_OVER_P, '1', 'and so many times as the P wave before the next beat'),
  p('hiding_share', rhythm.HIDING_SHARE, '1', 'share of intervals with such a wave, at one distance from the beat before, that is suspect'),
  p('hiding_spread', rhythm.HIDING_SPREAD_SEC, 's', 'distances that differ less are one'),
  p('t_wave_within', tWaves.T_WAVE_WITHIN_SEC, 's', 'a beat so soon after another, and sooner than others, has the place of a T wave'),
  p('t_waves_share', tWaves.T_WAVES_SHARE, '1', 'share of beats that have it, or are followed by one, that is suspect'),
];

const pairParameters = (source: 'ecg' | 'ppg'): MethodParameter[] => [
  p(
    'tail_max',
    source === 'ecg' ? beatValues.placings.rWave.tailMax : beatValues.placings.upstroke.tailMax,
    '1',
    'suspect when RMSSD is above this many times 1.4826 median of |difference|',
  ),
  p('rmssd_share_max', beatValues.doubtLimits[source].rmssdShareMax, '1', 'suspect when RMSSD is above this share of the mean interval'),
  p('sure_min', beatValues.sureMin, '1', "confidence of the detector below which a beat's place is unsure"),
  p('unsure_change_max', beatValues.unsureMax, '1', 'suspect when leaving unsure beats out changes RMSSD by more than this share'),
  ...(source === 'ecg'
    ? [
        p(
          'jitter_max',
          beatValues.placings.rWave.jitterMax,
          '1',
          'suspect when placing beats by the whole QRS complex, or leaving out what it fits nowhere, changes RMSSD by more; SDNN by 10 %',
        ),
        p(
          'placed_min',
          beatValues.placedMin,
          '1',
          'suspect when the whole QRS complex fits at fewer than this share of the pairs of intervals',
        ),
        p('by_shape_below', beatValues.placedByShapeBelowHz, 'Hz', 'below this rate beats are placed where the whole QRS complex fits'),
        p(
          'by_shape_jitter_max',
          beatValues.placings.shape.jitterMax,
          '1',
          'suspect there when R waves change RMSSD by more than this share',
        ),
        p(
          'by_shape_tail_max',
          beatValues.placings.shape.tailMax,
          '1',
          'suspect there when RMSSD is above this many times 1.4826 median of |difference|',
        ),
        p('by_shape_rmssd_min', beatValues.placings.shape.rmssdMin, 'ms', 'suspect there when RMSSD is below this'),
        p('ectopic_max', beatValues.ectopicMax, '1', 'suspect when more than this share of the intervals is next to an ectopic beat'),
      ]
    : []),
  ...apartParameters(source, false),
  p('unsure_beats_max', beatValues.doubtLimits[source].unsureBeatsMax, '1', 'suspect when more than this share of the beats is unsure'),
];

const bins = (widthMs: number): readonly MethodParameter[] => [p('bin', widthMs, 'ms', 'width of the bins of the histogram')];

/** Of single measures of variability. */
const ownOfVariability: Readonly<Record<string, readonly MethodParameter[]>> = {
  hrv_triangular_300s: bins(geometric.BIN_MS),
  hrv_tinn_300s: bins(geometric.BIN_MS),
  hrv_stress_index_300s: bins(geometric.STRESS_BIN_MS),
  hrv_dfa_alpha1_300s: [
    p('box_min', complexity.BOX_MIN, '1', 'beats of the smallest boxes'),
    p('box_max', complexity.BOX_MAX, '1', 'beats of the largest boxes'),
    p('boxed_min', complexity.BOXED_MIN, '1', 'no value where less of the intervals lies in boxes of the largest size'),
  ],
  hrv_sample_entropy_300s: [
    p('length', 2, '1', 'intervals that are compared before the next one is'),
    p('tolerance', complexity.TOLERANCE_SD, '1', 'intervals that differ by no more than this many SDNN are alike'),
  ],
};

function variability({ feature, source }: Method): MethodDetails {
  const kind = source === 'ppg' ? 'ppg' : 'ecg';
  const isSpectral = /_(vlf|lf|hf|total_power)_/.test(feature);
  const isSpread = /_(sdnn|sd2|triangular|tinn|stress_index)_/.test(feature) && !feature.includes('sd1_sd2');
  const bands = [
    p('lf_from', frequency.lfHz, 'Hz', 'lower edge of LF'),
    p('lf_to_hf_from', frequency.hfHz, 'Hz', 'upper edge of LF, lower edge of HF'),
    p('hf_to', frequency.endHz, 'Hz', 'upper edge of HF'),
    p('resample_rate', frequency.resampleHz, 'Hz', 'rate of the spline through the intervals'),
    p('hole_max', frequency.HOLE_MAX_SEC, 's', 'no value when so much is left out in a row; a straight line leads across less'),
    p('bridged_max', beatValues.bridgedMax, '1', 'suspect when more than this share of the time of the intervals is bridged'),
  ];
  const { sdnnMin, unsureSpreadMax } = beatValues.doubtLimits[kind];
  const spread = [
    ...(sdnnMin > 0 ? [p('sdnn_min', sdnnMin, 'ms', 'suspect when SDNN is below this: the fiducial varies as much')] : []),
    ...(kind === 'ecg' ? [p('unsure_beats_max', unsureSpreadMax, '1', 'suspect when more than this share of the beats is unsure')] : []),
    ...apartParameters(kind, true),
  ];
  return {
    parameters: [
      ...correctionParameters,
      ...(isSpread ? spread : []),
      ...(isSpread || feature.includes('mean_nn') ? [] : pairParameters(kind)),
      ...(isSpectral ? bands : []),
      ...(ownOfVariability[feature] ?? []),
    ],
    limits: [
      'Excluded intervals are never interpolated; no pair of intervals is spliced across a gap or an excluded one.',
      source === 'ecg'
        ? 'Of the recordings at hand up to a fifth of the supraventricular beats and a seventh of the ventricular ones are not recognised, of others more; a ventricular rhythm below 100 /min that lasts for more than two minutes is the usual one.'
        : 'Rhythms whose intervals look regular are taken for normal: the beats are judged by intervals, not by shape.',
      ...(kind === 'ppg'
        ? ['Pulse transit time varies with breathing: pulse variability is above that of the heart, most where that is small.']
        : []),
      ...(isSpectral
        ? [
            'A value needs intervals over 80 % of 300 s; what is left out takes its power away. Breathing near half of the heart rate, or faster (0.4 Hz at 50 /min), has hardly any of its power in HF, or has it at another frequency, and the flag does not tell. LF/HF is a ratio of powers, no measure of sympathetic tone.',
          ]
        : []),
    ],
  };
}

const moved = [
  p('gravity_min', motion.GRAVITY_MIN, '[g]', 'suspect below this mean magnitude: without gravity, or in another unit'),
  p('gravity_max', motion.GRAVITY_MAX, '[g]', 'and above this,'),
  p('gravity_per_deviation', motion.GRAVITY_PER_DEVIATION, '1', 'and so many times its standard deviation'),
  p('rail_min', motion.RAIL_MIN_G, '[g]', 'suspect when the farthest value of an axis is at least this'),
  p('rail_share', motion.RAIL_SHARE, '1', 'and that of more than this share of the samples: a rail'),
  p('other_moves', motion.OTHER_MOVES_G, '[g]', 'suspect when an axis stands still while another moves so far'),
];

const delineated: MethodDetails = {
  parameters: [
    p('onset_share', delineation.ONSET_SHARE, '1', 'of the steepest slope of the QRS: below it the QRS has not begun'),
    p('end_share', delineation.END_SHARE, '1', 'likewise, below it the QRS has ended'),
    p('t_reach', delineation.T_REACH_SEC, 's', 'T is sought up to this times the root of the interval before the beat in s, after R'),
    p('t_trapezium', delineation.T_TRAPEZIUM_SEC, 's', 'the right side of the trapezium lies so long after the steepest fall of T'),
    p(
      't_level',
      delineation.T_LEVEL_SHARE,
      '1',
      'a T wave is in doubt when it ends further than this share of its height from the level before the QRS',
    ),
    p('t_back_share', delineation.T_BACK_SHARE, '1', 'when it ends beyond that level and is back by this share of its height'),
    p('t_back', delineation.T_BACK_SEC, 's', 'so soon after; and when it ends after the onset of the next P'),
    p('p_trapezium', delineation.P_TRAPEZIUM_SEC, 's', 'its left side so long before the steepest rise of P'),
    p('mains_share_min', delineation.MAINS_SHARE_MIN, '1', 'hum of this share of the height of a beat is taken off'),
    p('mains_times', delineation.MAINS_TIMES, '1', 'when it is so many times what is next to its frequency'),
    p('beats_min', intervals.BEATS_MIN, '1', 'no value from fewer beats'),
    p('beats_share_good', intervals.BEATS_SHARE_GOOD, '1', 'suspect when fewer of the beats of the window gave one'),
    p('pr_spread_max', intervals.PR_SPREAD_MAX_MS, 'ms', 'no PR when half of them lie further from the median'),
    p('pr_spread_good', intervals.SPREAD_GOOD_MS.pr, 'ms', 'suspect beyond it'),
    p('qrs_spread_good', intervals.SPREAD_GOOD_MS.qrs, 'ms', 'likewise'),
    p('qt_spread_good', intervals.SPREAD_GOOD_MS.qt, 'ms', 'likewise'),
    p('t_sure_share_good', intervals.T_SURE_SHARE_GOOD, '1', 'QT is suspect when fewer of the T waves are sure'),
    p('t_later', delineation.LATER_SHARE, '1', 'a T wave is in doubt, too, when a wave of this share of its height follows it soon'),
    p(
      'p_sure_share_good',
      intervals.P_SURE_SHARE_GOOD,
      '1',
      'PR is suspect when fewer of the P waves are sure: whole, and after the T wave before',
    ),
    p(
      'leads_apart_good',
      intervals.LEADS_APART_GOOD_MS,
      'ms',
      'QT is suspect when the second lead has one that differs by more, in the median',
    ),
    p(
      'compared_every',
      intervals.COMPARED_EVERY_SEC,
      's',
      'the first beat of every so many seconds is compared, when its T is sure in the second lead',
    ),
    p(
      'compared_min',
      intervals.COMPARED_MIN,
      '1',
      'and the second lead says nothing with fewer of them, or when half of these differ by more than that from the median',
    ),
    p('rr_apart_good', intervals.RR_APART_GOOD, '1', 'QTc is suspect when the mean NN interval is further from that of all beats'),
  ],
  limits: [
    'Of one lead: not the QT of a twelve-lead ECG, and no basis for a dose.',
    'A flat T, a U wave, or a fast rate at which P lies on T, misleads it; mostly the values spread then, and are suspect.',
    'An end of T that is wrong alike in every beat spreads no values. T waves that look doubtful and a second lead that disagrees tell most of these: send two leads. docs/accuracy.md says how many, and compares QT and QTc with a cardiologist.',
    'Bazett corrects too much at fast rates and too little at slow ones; the formulas agree near 60 /min.',
  ],
};

const modulated: MethodDetails = {
  parameters: [
    p('band_low', breathing.settings.surrogate.highPassHz, 'Hz', 'lower edge of the band in which breaths are sought'),
    p('band_high', breathing.settings.surrogate.lowPassHz, 'Hz', 'upper edge of that band'),
    p('turn_share', breathing.settings.surrogate.turnShare, '1', 'share of the usual swing that the signal goes back before a turn counts'),
    p('agree_within', modulation.AGREE_PER_MIN, '/min', 'modulations within this show one rate'),
  ],
  limits: [
    'Only where the stream has no respiration channel; never better than suspect, bad unless two modulations agree.',
    `Rates above ${60 * breathing.settings.surrogate.lowPassHz} /min lie outside of the band.`,
  ],
};

const burdened: MethodDetails = {
  parameters: [
    p('covered_good', burden.coveredGood, '1', 'suspect when intervals between good beats cover less of the window'),
    p(
      'wrong_kind_max',
      burden.wrongKindMax,
      '1',
      'suspect when so many of the beats are expected to be of another kind, by their confidences',
    ),
    p('unknown_kind_max', burden.unknownKindMax, '1', 'suspect when so many of the beats could not be compared with the usual one'),
    p('run_beats', burden.RUN_BEATS, '{beats}', 'ventricular beats in a row that are a run; one fewer is a couplet'),
    p(
      'irregular_min',
      burden.irregularMin,
      '1',
      'median change between neighbouring intervals, over their median, above which a rhythm is taken for fibrillation',
    ),
  ],
  limits: [
    'A count of what r_peaks calls ventricular or supraventricular, from the first lead, with its misses and false calls. Flutter and fibrillation of the ventricles have no beats to count, and a ventricular rhythm below 100 /min that lasts for more than two minutes is the usual one.',
  ],
};

const details: Readonly<Record<string, MethodDetails>> = {
  r_peaks: {
    parameters: [
      p('ventricular_min', origin.ventricularMin, '1', 'logit above which a beat is ventricular'),
      p('supraventricular_min', origin.supraventricularMin, '1', 'logit above which a beat is supraventricular'),
      p(
        'irregular_max',
        origin.irregularMax,
        '1',
        'irregularity (median deviation of intervals from their median) above which an early beat says nothing without steady P waves',
      ),
      p('steady_p_min', origin.steadyPMin, '1', 'median likeness of what stands before the beats from which P waves are steady'),
      p('ectopic_confidence_min', origin.ectopicConfidenceMin, '1', 'a beat that is called ectopic with less confidence is suspect'),
      p('movement_reach', origin.movementReach, '{beats}', 'beats before and after by which movement of an electrode is told'),
      p('movement_most', origin.movementMost, '1', 'above still_max, movement counts up to so much'),
      p(
        'still_max',
        origin.stillMax,
        '1',
        'logarithm of what stands before a beat and not before those of its shape, over its QRS complex, up to which it is still',
      ),
      p('usual_back', origin.usualBack, '{beats}', 'intervals before a beat by which it is early'),
      p('usual_ahead', origin.usualAhead, '{beats}', 'intervals after it'),
      p('run_first', origin.firstShare, '1', 'share of the usual interval below which the first interval of a fast run is'),
      p('run_share', origin.fastShare, '1', 'share of it below which all of its intervals are'),
      p('run_baseline', origin.runBaseline, '{beats}', 'intervals before the run that say what is usual'),
      p('run_beats', origin.runBeats, '{beats}', 'first beats of a run are looked for so far back'),
      p('narrower', beatShapes.NARROWER, '1', 'a usual beat narrower than this share of a more frequent one stays the usual one'),
      p('broad', beatShapes.BROAD, 'ms', 'QRS complex (area over height) of a usual beat, wider than which it may be ventricular'),
      p('broad_within', beatShapes.FAST, 's', 'where such beats follow each other within this'),
      p('broad_run', origin.narrowerShare, '1', 'or where every beat since one that looked ventricular has this share of its width'),
      p('detection_rate', rPeaks.FEATURE_RATE, 'Hz', 'the signal is averaged down to the rate nearest to this that divides its own'),
      p('hum_share_min', mainsHum.HUM_SHARE_MIN, '1', 'hum of this share of the height of a beat is taken off before it is placed'),
      p('hum_energy_min', mainsHum.HUM_ENERGY_MIN, '1', 'when it has so much of the energy of what is as fast'),
      p('band_low', rPeaks.HIGH_PASS_HZ, 'Hz', 'lower edge of the detection band'),
      p('band_high', rPeaks.LOW_PASS_HZ, 'Hz', 'upper edge of the detection band'),
      p('moving_sum', rFeature.WINDOW_SEC, 's', 'length of the moving sum of |slope|'),
      p('look_ahead', rPeaks.LOOK_SEC, 's', 'a candidate is judged this long after its peak'),
      p(
        'rejected_alike',
        rPeaks.BEAT_ALIKE,
        '1',
        'a rejected wave as high as the last beat, more like the mean one than this, is no noise',
      ),
      p('refractory', rJudge.REFRACTORY_SEC, 's', 'of two candidates closer than this one is the beat'),
      p('refractory_fast', rJudge.FAST_SEC, 's', 'closer than this where it looks like a beat'),
      p('fast_height', rJudge.FAST_HEIGHT, '1', 'it does above this share of the level of beats'),
      p('fast_alike', rJudge.FAST_ALIKE, '1', 'and this correlation with the mean beat'),
      p('threshold_noise', rJudge.NOISE_WEIGHT, '1', 'floor of the threshold, in noise levels'),
      p('threshold_signal', rJudge.SIGNAL_WEIGHT, '1', 'share of the way from the floor to the level of beats'),
      p('t_wave_within', rJudge.T_WAVE_SEC, 's', 'within this of a beat a flat wave is a T wave'),
      p('t_wave_slope', rJudge.T_WAVE_SLOPE, '1', "flat: below this share of the beats' slope, in every lead"),
      p(
        'search_back_after',
        rPeaks.SEARCH_BACK_RR,
        '1',
        'mean intervals without a beat after which rejected candidates are looked at again',
      ),
      p('search_back_score', rPeaks.SEARCH_BACK_SCORE, '1', 'score above which the best of them is a beat'),
      p('lead_power', rFusion.CLEAR_POWER, '1', 'weight of a lead: (level of its beats / its mean) to this power'),
      p('first_lead', rFusion.FIRST_LEAD, '1', 'preference for the first lead in that'),
      p('lead_strength_max', rFusion.STRENGTH_MAX, '1', "a wave counts at most this many times a lead's beats"),
      p('one_lead_weight', rFusion.ONE_LEAD_WEIGHT, '1', 'one lead is enough for a wave: one with more than this share of the weights,'),
      p('one_lead_from', rFusion.ONE_LEAD_FROM, '1', 'in which it has at least this share of the level of beats'),
      p('one_lead_around', rFusion.ONE_LEAD_AROUND, '1', 'and stands alone: at most this share of it in the windows on either side;'),
      p('one_lead_others', rFusion.ONE_LEAD_OTHERS, '1', "all others have at least this share of their beats' level."),
      p('one_lead_counts', rFusion.ONE_LEAD_COUNTS, '1', 'It then counts as a wave of this share of the level of beats'),
      p(
        'lead_clear',
        rPlaces.CLEAR_MIN,
        '1',
        'the first lead is noisy where its slopes at the beats are less than so many times those around,',
      ),
      p('lead_around', rFusion.AROUND_SEC, 's', 'for so long on either side,'),
      p('lead_alike', rPlaces.CLEAR_ALIKE, '1', 'and its beats correlate less with the mean one: then the clearest lead places them,'),
      p('lead_unseen', rPlaces.UNSEEN, '1', 'or its slopes at the beats are less than so many times those around, however alike they are;'),
      p('lead_clearer', rPlaces.CLEARER, '1', 'where the second is so many times as clear then, it tells the kind of the beat'),
      p('lead_lag_max', rPlaces.LAG_MAX_SEC, 's', 'less the usual distance of its R waves, which is at most this'),
      p('lead_silent', rFusion.SILENT, '1', 'a lead below this share of its mean is left out'),
      p('pulse', rJumps.PULSE_SEC, 's', 'what is no longer than this, and steep, is a pulse and not part of a beat'),
      p('jump', rJumps.JUMP, '1', 'a change from one sample to the next so many times the next largest one around is a pulse or a step'),
      p('filter_gap', rPeaks.FILTER_GAP_SEC, 's', 'after a longer gap the filters begin anew'),
      p('gap', rPeaks.SHORT_GAP_SEC, 's', 'a longer gap ends the run of beats'),
      p('gap_near', rPeaks.GAP_NEAR_SEC, 's', 'a low wave so near to a gap of the filters is not taken for a beat that is missing'),
      p('gap_share', rPeaks.GAP_SHARE, '1', 'low: below this share of the level of beats'),
      p('bridge_gap', bridged.BRIDGE_GAP_MIN_MS, 'ms', 'in so many missing samples a beat may be bridged'),
      p('bridge_reach', bridged.BRIDGE_REACH_MS, 'ms', 'or so near to them'),
      p('bridge_tolerance', bridged.BRIDGE_TOLERANCE, '1', 'of the usual interval, how far an interval may be off its double or triple'),
      p('bridge_shift', bridged.BRIDGE_SHIFT, '1', 'of the usual interval, how far a bridged beat may lie from its even place'),
      p('bridge_beats', bridged.BRIDGE_MOST, '{beats}', 'bridged between two that were seen, at most'),
      p('bridge_usual', bridged.BRIDGE_USUAL_OF, '{beats}', 'last NN intervals, whose median is the usual one'),
      p('bridge_usual_min', bridged.BRIDGE_USUAL_MIN, '{beats}', 'at least so many of them'),
      p('bridge_usual_within', bridged.BRIDGE_USUAL_SEC, 's', 'within so long before'),
      p('forget_gap', rPeaks.FORGET_GAP_SEC, 's', 'after a longer gap all levels are learned anew'),
      p('latency', rPeaks.LATENCY_SEC, 's', 'a beat is told at most this long after it'),
    ],
    limits: [
      'A segment of 64 s that begins while the first lead is noisy does not know how far the R waves of the others are from its own: the interval across its beginning is off by as much, 80 ms at most.',
      `50 to 4000 Hz, tested for 100 to 1000 Hz; of the leads of one rate the first ${fusedEcgLeadsMax} that the device announced.`,
      `In the first ${rPeaks.LEARN_SEC} s after a start a T wave of more than 0.4 of the R wave can be taken for a beat.`,
      `Below ${rJumps.REPAIRED_FROM_HZ} Hz pulses of pacemakers and steps are not taken out: a pulse that does not capture may be a beat, suspect where it is seen to be as short as a sample or two with nothing after it, which filters of a device can hide. A beat that lies in a lost packet is not seen: it is bridged where the rhythm has room for it, and else lost.`,
      'Ventricular flutter is not detected as such; P waves as tall as the QRS and multiform ventricular runs in noise are the usual errors.',
    ],
  },
  pulse_peaks: {
    parameters: [
      p('interval_min', pulseBeats.APART_SEC, 's', 'shortest interval between two beats'),
      p('rise_interval_min', pulseBeats.IBI_MIN_SEC, 's', 'shortest time between the ends of the upstrokes of two beats'),
      p('interval_max', pulseBeats.IBI_MAX_SEC, 's', 'longest interval within a run'),
      p('merge', pulseBeats.MERGE_SEC, 's', 'candidates closer than this are one'),
      p('hold', pulseBeats.HOLD_SEC, 's', 'missing samples up to this are bridged by the last value'),
      p('stuck', pulseBeats.STUCK_SEC, 's', 'light that does not change for this long stands at a rail: a gap from where it stopped'),
      p('look_ahead', pulseBeats.AHEAD_SEC, 's', 'future by which the level of a candidate is known'),
      p('lag', pulseBeats.LAG_SEC, 's', 'the path of beats is decided this much later'),
      p('log_theta', pulseBeats.weights.logTheta, '1', 'log of height over level at which a candidate is worth nothing'),
      p('dicrotic_within', pulseBeats.weights.dicroticSec, 's', 'a low wave after a high one within this is dicrotic'),
      p('polarity_block', polarity.POLARITY_BLOCK_SEC, 's', 'signal by which a pulse is judged upright or upside down'),
      p('polarity_turn', polarity.POLARITY_TURN, '1', 'skewness of level and slope together, the other way, at which it is turned'),
    ],
    limits: [
      '20 to 2000 Hz. Raw light, in which systole points downwards, is turned where the shape of its beats is clear; in motion it may not be.',
      `Rates above ${Math.floor(60 / pulseBeats.IBI_MIN_SEC)} /min are not considered; an early beat without a pulse wave cannot be found.`,
      'In hard motion half of the waves are arm swing: see the flags, and hr_ppg_motion.',
    ],
  },
  hr_ecg: {
    parameters: [
      p('good', ecgQuality.ecgRateGood, '1', 'probability of being within 5 /min from which a rate is good'),
      p('bad', ecgQuality.ecgRateBad, '1', 'probability below which it is bad'),
      p('same_share', oneBeatOff.sameShare, '1', 'intervals that differ less are alike: to the median, to twice it, or two to once it'),
      p(
        'even_min',
        oneBeatOff.evenMin,
        '1',
        'share of the other intervals that are usual, where a doubled or halved one makes a rate suspect',
      ),
      ...hiddenParameters,
    ],
    limits: [
      'At least two intervals within the window, none across a gap; every beat counts, also ventricular ones.',
      'A beat that is not conducted, or interpolated, in an even rhythm makes a right rate suspect for 8 s: its intervals are those of a beat that was missed or found twice.',
      'Low wide beats that are missed show where they stand out between T wave and P wave: half as steep as that, or earlier, they are not seen. Of a T wave later than 0.5 s every rate is suspect, and of bigeminy whose beats come within 0.42 s.',
      'Chest compressions in an asystole are beats to it, and may be good.',
    ],
  },
  hr_ppg: {
    parameters: [
      p('mean_off_max', beatValues.meanOffMax, '/min', 'suspect when median and mean differ by more'),
      p('longest_max', beatValues.longestMax, '1', 'suspect when an interval is longer than this many means'),
      p('same_rate', beatValues.ofMotionShare, '1', 'suspect within this share of the rate of a motion, of its half or its double'),
      p('moving', motionRate.MOVING_G, '[g]', 'motion below which nothing moves'),
    ],
    limits: [
      'At least two intervals within the window, none across a gap; in an irregular pulse the median is not the mean rate.',
      'Without an accelerometer a motion that is as even as a pulse, and stronger, is one to it.',
    ],
  },
  sqi_ecg: {
    parameters: [
      p('window', ecgQuality.ecgQualityWindowSec, 's', 'signal around a second by which it is judged'),
      p('match', ecgQuality.MATCH_SEC, 's', 'beats of the two detectors within this are one'),
      p('flat_max', ecgQuality.FLAT_MAX, '1', 'share of flat or missing signal above which a second is bad'),
      p('good', ecgQuality.ecgSqiGood, '1', 'index from which a second is good'),
      p('bad', ecgQuality.ecgSqiBad, '1', 'index below which it is bad'),
      p('t_wave_within', tWaves.T_WAVE_WITHIN_SEC, 's', 'a beat so soon after another, and sooner than others, has the place of a T wave'),
      p('t_waves_share', tWaves.T_WAVES_SHARE, '1', 'share of beats that have it, or are followed by one, that is suspect'),
      p(
        'alternate_from',
        ecgQuality.ALTERNATE_FROM,
        '1',
        'a beat less like the one before than like the one before that, by more than this,',
      ),
      p('alternate_share', ecgQuality.ALTERNATE_SHARE, '1', 'is suspect in a second where this share of the beats is so'),
      p('pause', ecgQuality.PAUSE_SEC, 's', 'without a beat for so long, what follows may be noise or P waves'),
      p('pause_low', ecgQuality.PAUSE_LOW, '1', 'while it is lower than this share of the beat before the pause'),
      p('pause_low_beats', ecgQuality.PAUSE_LOW_BEATS, '{beats}', 'for at most so many beats'),
      p('same_beat', ecgQuality.SAME_BEAT_SEC, 's', 'waves of two leads so near to their usual distance are of one beat'),
      p('waves_max', ecgQuality.WAVES_MAX, '1', 'a second is suspect where waves between the beats are higher than this share of them,'),
      p('waves_from', ecgQuality.WAVES_FROM_SEC, 's', 'later than this after a beat'),
      p('held', ecgQuality.HELD_SEC, 's', 'a second is suspect within the window of a line that does not change for so long,'),
      p('shared_min', ecgQuality.SHARED_MIN, '1', 'a second is suspect where two leads share less than this of their beats,'),
      p('own_noise_max', ecgQuality.OWN_NOISE_MAX, '1', 'and in each the waves between its beats are below this share of them,'),
      p('burst', ecgQuality.BURST_SEC, 's', 'unless what is not shared lies together, within this, as in a burst of noise,'),
      p('burst_others_min', ecgQuality.BURST_OTHERS_MIN, '1', 'but for less than this share of the beats,'),
      p('burst_noise_min', ecgQuality.BURST_NOISE_MIN, '1', 'and the waves between the beats came to this share of them,'),
      p('twice_as_many', ecgQuality.TWICE_AS_MANY, '1', 'or where one lead has so many times the beats of the other,'),
      p('kept_for', ecgQuality.KEPT_FOR_SEC, 's', 'and in so long'),
      p('kept', ecgQuality.KEPT_SEC, 's', 'the leads keep their distance by no more than this'),
      p('kept_min', ecgQuality.KEPT_MIN, '1', 'in less than this share of the beats that it has,'),
      p('followed_min', ecgQuality.FOLLOWED_MIN, '1', 'or where less than this share of the beats'),
      p(
        'before_wave',
        ecgQuality.BEFORE_WAVE_SEC,
        's',
        'lies at most so long before a wave of the first lead, which has a rhythm of its own,',
      ),
      p('after_wave', ecgQuality.AFTER_WAVE_SEC, 's', 'or at most so long after one,'),
      p('lone_pulse_rest', ecgQuality.LONE_PULSE_REST, '1', 'or, below 188 Hz, where less than this share of a jump follows it,'),
      p('lone_pulse_alike', ecgQuality.LONE_PULSE_ALIKE, '1', 'which is a beat that correlates by less than this with the mean one'),
    ],
    limits: [
      'The index is a probability on the recordings it was fitted on: MIT-BIH, with electrode motion added.',
      'Of more than two leads the first two are compared. Two hearts of nearly one rate are one heart, and so are those of twice the rate while their beats keep their distance.',
    ],
  },
  sqi_ppg: {
    parameters: [
      p('before', ppgQuality.BEFORE_SEC, 's', 'signal before a second by which it is judged'),
      p('after', ppgQuality.AFTER_SEC, 's', 'signal after its start by which it is judged'),
      p('match', ppgQuality.MATCH_SEC, 's', 'beats of the two detectors within this are one'),
      p('agreement_min', ppgQuality.AGREEMENT_MIN, '1', 'F1 of the two detectors below which a second is bad'),
      p('ambiguous', ppgQuality.AMBIGUOUS, '1', 'what an index is above this counts half where the beats may be something else'),
      p('tone_max', ppgQuality.TONE_MAX, '1', 'power of the second harmonic over the first below which a wave is a tone'),
      p('dicrotic', ppgQuality.DICROTIC_SEC, 's', 'a wave that comes sooner after another may be dicrotic'),
      p('late_dicrotic', ppgQuality.LATE_DICROTIC_SEC, 's', 'and one that comes sooner than this, where it is much lower'),
      p(
        'late_height_by_turns',
        ppgQuality.alternating.lateHeight.size,
        '1',
        'heights then go up and down by turns by more than this share',
      ),
      p('height_by_turns', ppgQuality.alternating.height.size, '1', 'heights go up and down by turns by more than this share'),
      p('interval_by_turns', ppgQuality.alternating.interval.size, '1', 'and intervals by more than this share'),
      p('flat', ppgQuality.FLAT_SEC, 's', 'without a change for this long a sample counts as lost'),
      p('lost_max', ppgQuality.LOST_MAX, '1', 'share of lost samples above which a second is bad'),
      p('shortest', ppgQuality.SHORTEST_SEC, 's', 'before a gap a second is judged by those up to the gap, if there are at least so many'),
      p('good', ppgQuality.ppgSqiGood, '1', 'index from which a second is good'),
      p('bad', ppgQuality.ppgSqiBad, '1', 'index below which it is bad'),
    ],
    limits: [
      'Fitted on fingertips in intensive care and wrists on a treadmill; without an accelerometer arm swing can look like a clean pulse.',
      'An early beat without a pulse wave counts as wrong although the signal is fine.',
      'A vibration or tapping whose waves are as steep and as uneven as those of a pulse is taken for one where no accelerometer tells.',
      'Where every second pulse is too weak to be felt (bigeminy, alternans), the rate is that of the others.',
    ],
  },
  resp_rate: {
    parameters: [
      p('band_low', breathing.settings.channel.highPassHz, 'Hz', 'lower edge of the band in which breaths are sought'),
      p('band_high', breathing.settings.channel.lowPassHz, 'Hz', 'upper edge of that band'),
      p('turn_share', breathing.settings.channel.turnShare, '1', 'share of the usual swing that the signal goes back before a turn counts'),
      p('period_min', breathing.settings.channel.periodMinSec, 's', 'two breaths are at least this far apart'),
      p('uneven_max', breathing.UNEVEN_MAX, '1', 'suspect when the variation of the intervals (standard deviation over mean) over this,'),
      p(
        'unlike_max',
        breathing.UNLIKE_MAX,
        '1',
        'and that of the heights (third quartile of the distance from the median, over it) over this, are more than 1 together',
      ),
      p('heart_apart', heartSeen.AGREE_PER_MIN, '/min', 'suspect within this of the heart rate of ECG or PPG'),
      p(
        'hurried_max',
        breathing.HURRIED_MAX,
        '1',
        'suspect when more than this share of the breaths came after one that was left out as too near',
      ),
      p(
        'rise_min',
        breathing.RISE_SHARE_MIN,
        '1',
        'suspect when breaths rise less than this share of what those in a tenth of the time before exceed,',
      ),
      p('rise_back', breathing.RISE_BACK_SEC, 's', 'so far back'),
      p('white_min', breathing.WHITE_MIN, '1', 'mean squared difference of neighbours over mean square from which a channel is noise'),
    ],
    limits: [
      `At most ${60 / breathing.settings.channel.periodMinSec} /min.`,
      'A channel that never shows more than the heart (apnoea since it began, a belt that is loose) has the rate of the heart.',
      'A window with fewer than three breaths has no value: apnoea is not a rate of 0.',
      'Of a sensor that was taken off, noise that the device has smoothed may look like breathing, and be good.',
    ],
  },
  af_index: {
    parameters: [
      p('p_from', fibrillation.P_FROM_SEC, 's', 'the stretch compared begins so long before the R peak'),
      p('p_to', fibrillation.P_TO_SEC, 's', 'and ends here before it'),
      p('hum_share_min', mainsHum.HUM_SHARE_MIN, '1', 'hum of this share of the height of a beat is taken off before it is compared'),
      p('hum_energy_min', mainsHum.HUM_ENERGY_MIN, '1', 'when it has so much of the energy of what is as fast'),
      p('intervals_min', fibrillation.INTERVALS_MIN, '1', 'no value from fewer intervals'),
      p('shapes_min', fibrillation.SHAPES_MIN, '1', 'suspect with fewer beats to compare'),
      p(
        'ectopic_min',
        fibrillation.ECTOPIC_MIN,
        '1',
        'share of ectopic beats, by shape and timing, from which patterns of them are looked for',
      ),
      p('lag_max', fibrillation.LAG_MAX, '{intervals}', 'each interval is then compared with this many before it'),
      p('later_lags', fibrillation.LATER_LAGS, '1', 'factor of those differences'),
      p(
        'weight_irregularity',
        fibrillation.weights.irregularity,
        '1',
        'of ln(median |difference of neighbours| / median interval + 0.001)',
      ),
      p('weight_likeness', fibrillation.weights.likeness, '1', 'of the median correlation of the stretches with their median'),
      p('constant', fibrillation.weights.constant, '1', 'of the logistic regression'),
      p(
        't_in_p',
        fibrillation.T_IN_P_SEC,
        's',
        'an index of less than 0.5 is suspect where the median interval is shorter than this and the next limit reached,',
      ),
      p('fibrillating_min', fibrillation.FIBRILLATING_MIN, '1', 'one of 0.5 or more where the irregularity is below this,'),
      p('repeat_max', fibrillation.REPEAT_MAX, '1', 'where intervals further apart differ by less than this share of neighbouring ones,'),
      p('repeat_lag_max', fibrillation.REPEAT_LAG_MAX, '{intervals}', 'up to so far apart,'),
      p(
        'placed_min',
        fibrillation.PLACED_MIN,
        '1',
        'where the whole QRS complex fits the usual one at fewer than this share of the intervals,',
      ),
      p('misplaced_max', fibrillation.MISPLACED_MAX, '1', 'or where its place changes their differences by more than this share'),
    ],
    limits: [
      'An index of a rhythm, no diagnosis. Flutter with a regular answer and other regular tachycardias look regular to it.',
      'The first ECG lead alone is searched for P waves: where it shows none (electrodes far from the atria), regular rhythm keeps the index low, and irregular sinus rhythm may not.',
      'Fibrillation whose beats are regular (complete block with an escape rhythm, a pacemaker most of the time) has a low index that is good.',
      'Ectopic beats that are frequent and follow no pattern raise it, although they are left out where 8 intervals remain; bigeminy and trigeminy whose ectopic beats are known as such do not.',
    ],
  },
  af_burden_300s: {
    parameters: [
      p('likely', rhythm.LIKELY, '1', 'index from which fibrillation is likelier than not'),
      p('doubtful_max', rhythm.BURDEN_DOUBTFUL, '1', 'share of the indices that may be suspect and say fibrillation, for a good burden,'),
      p('likely_doubtful_max', rhythm.LIKELY_DOUBTFUL, '1', 'or share of those that say fibrillation'),
      p('good_share', rhythm.BURDEN_GOOD, '1', 'share of the 30 indices of 5 min that must be good for a good burden'),
    ],
    limits: [
      'What af_index takes for fibrillation counts, and what it misses does not: flutter with a regular answer is not in it.',
      'Of normal rhythm, too, some values lie above 0.5: a few per cent are no finding.',
    ],
  },
  longest_rr_10s: {
    parameters: [
      p('longest', rhythm.PAUSE_MAX_SEC, 's', 'beats further apart have no interval'),
      p('long_min', rhythm.LONG_MIN, '1', 'usual intervals from which one is long: the median of up to 7 before it'),
      p('steep_over', steepness.STEEP_OVER_SEC, 's', 'time over which a change of the first lead is taken'),
      p(
        'steep_min',
        rhythm.STEEP_MIN,
        '1',
        'greatest change in a long interval, over that of the beats before it, from which it may hide a beat',
      ),
      p('still_max', rhythm.STILL_MAX, '1', 'share of it without any change from which an electrode is off'),
      p(
        'faded_max',
        rhythm.FADED_MAX,
        '1',
        'share of what is there all the time that is left when the gain falls, not when the heart pauses',
      ),
      ...hiddenParameters,
    ],
    limits: [
      'A beat that the detector missed makes an interval of two: suspect where it is as steep as the others, or low and alone between T wave and P wave. A flat signal of an electrode that came off is flagged, not a pause. A pause of more than about 5 s is at best suspect, because quality is judged by beats.',
    ],
  },
  ventricular_burden_300s: burdened,
  supraventricular_burden_300s: burdened,
  ventricular_couplets_300s: burdened,
  ventricular_runs_300s: burdened,
  ventricular_run_10s: {
    parameters: [
      p('counted', runUs / 1e6, 's', 'beats of a run count back to here before the value'),
      p('run_confidence_min', burden.runConfidenceMin, '1', 'suspect when a beat of the run is ventricular with less confidence'),
      p('run_confidence_mean', burden.runConfidenceMean, '1', 'or its beats are so in the mean'),
      p('run_unknown_max', burden.runUnknownMax, '1', 'and when more of the beats of the window are of no known kind'),
      ...burdened.parameters.slice(1),
    ],
    limits: burdened.limits,
  },
  pr_60s: delineated,
  qrs_60s: delineated,
  qt_60s: delineated,
  qtc_bazett_60s: delineated,
  qtc_fridericia_60s: delineated,
  qtc_framingham_60s: delineated,
  qtc_hodges_60s: delineated,
  resp_rate_ppg: modulated,
  resp_rate_ecg: modulated,
  temp_mean: {
    parameters: [
      p('plausible_min', temperature.PLAUSIBLE.min, 'Cel', 'readings below this are no skin'),
      p('plausible_max', temperature.PLAUSIBLE.max, 'Cel', 'readings above this are no skin'),
      p('hampel', temperature.HAMPEL, '1', 'robust standard deviations from the median beyond which a sample is left out'),
      p('sigma_min', temperature.SIGMA_MIN, 'Cel', 'floor of the robust standard deviation'),
      p('worn_min', temperature.WORN.min, 'Cel', 'suspect below this: probably not worn'),
      p('worn_max', temperature.WORN.max, 'Cel', 'suspect above this'),
      p('sigma_max', temperature.SIGMA_MAX, 'Cel', 'suspect above this robust standard deviation'),
      p('change_max', temperature.CHANGE_MAX, 'Cel', 'suspect when the means of the halves of the block are further apart'),
      p('usable_min', temperature.COVERAGE_MIN, '1', 'bad when less than this share of the block is usable'),
    ],
    limits: [
      'Skin temperature under the sensor, not core temperature. No unit, or `1`, is taken for Cel.',
      'A sensor that lies in a room of more than 25 °C, or in warm water, cannot be told from one on the skin once it has settled, nor one that holds its value.',
    ],
  },
  eda_tonic: {
    parameters: [
      p('plausible_min', eda.PLAUSIBLE_US.min, 'uS', 'conductance below this is an artefact'),
      p('plausible_max', eda.PLAUSIBLE_US.max, 'uS', 'conductance above this is an artefact'),
      p('slope_max', eda.SLOPE_MAX_US_PER_SEC, 'uS/s', 'faster changes are artefacts'),
    ],
    limits: [
      'Exosomatic conductance; a resistance must be converted first. No unit, or `1`, is taken for uS.',
      'Dry skin and a dry electrode are as low; a device that holds a value, at a rail too, cannot be told from calm skin that it resolves coarsely.',
    ],
  },
  scr_rate: {
    parameters: [
      p('response_min', eda.RESPONSE_MIN_US, 'uS', 'least height of a response'),
      p('rise_min', eda.RISE_MIN_SEC, 's', 'shortest rise'),
      p('rise_max', eda.RISE_MAX_SEC, 's', 'longest rise'),
      p('low_pass', eda.LOW_PASS_HZ, 'Hz', 'the signal is smoothed to this before'),
      p('slope_max', eda.SLOPE_MAX_US_PER_SEC, 'uS/s', 'a second after a faster change is missing'),
      p('noise_share', eda.NOISE_SHARE, '1', 'mean bend of the signal, over the height of a response, from which that may be noise'),
      p('noisy_share', eda.NOISY_SHARE, '1', 'suspect where more than this share of the responses may be noise'),
      p('sudden_per_sec', eda.SUDDEN_PER_SEC, '1/s', 'a rise as fast as this share of its height is no response, but a change of contact'),
      p('coarse', eda.COARSE_US, 'uS', 'suspect where no two samples that follow each other differ by less, or none differ'),
    ],
    limits: [
      'Responses that overlap are told apart only where the signal falls in between.',
      'Pressure on an electrode that comes and goes within seconds, and deep breaths, make waves like responses; below 8 Hz a sudden touch does, too.',
    ],
  },
  activity: {
    parameters: [
      p('coverage_bad', motion.COVERAGE_MIN, '1', 'bad when less than this share of the block has samples'),
      p('coverage_good', motion.COVERAGE_GOOD, '1', 'suspect when less than this share has'),
      ...moved,
    ],
    limits: [
      'Three axes of one rate, with gravity; depends on where the sensor is worn. No unit, or `1`, is taken for g.',
      'Vehicles and machines move it as walking does. A device that holds all three axes looks like one that lies still.',
    ],
  },
  steps: {
    parameters: [
      p('step_min', motion.STEP_MIN_G, '[g]', 'least height of a step in the band-passed magnitude'),
      p('period_min', motion.STEP_PERIOD.min, 's', 'shortest time between two steps'),
      p('period_max', motion.STEP_PERIOD.max, 's', 'longest time between two steps'),
      p('period_change', motion.PERIOD_CHANGE, '1', 'successive periods differ by less than this share'),
      p('height_ratio', motion.HEIGHT_RATIO, '1', 'successive heights differ by less than this factor'),
      p('walk_steps', motion.WALK_STEPS, '{steps}', 'fitting steps in a row that make a walk'),
      ...moved,
    ],
    limits: [
      'Three axes of one rate, with gravity; fewer steps in a row than a walk are gestures and not counted.',
      'Shaking of 1 to 4 Hz that lasts, as in a lorry, on a rough road by bicycle, or of rhythmic work of the hands, is counted as steps: some 10 to 80 a minute.',
    ],
  },
  spo2: {
    parameters: [
      p('offset', spo2.textbookCalibration.offset, '%', 'of the line without a calibration in the profile'),
      p('slope', spo2.textbookCalibration.slope, '%', 'of that line, per ratio of ratios'),
      p('correlation_bad', spo2.CORRELATION_MIN, '1', 'bad when red and infrared correlate less'),
      p('correlation_good', spo2.CORRELATION_GOOD, '1', 'suspect when they correlate less'),
      p('perfusion_min', spo2.PERFUSION_MIN, '1', 'bad when the pulsatile share of infrared is less'),
      p('lost_max', spo2.LOST_MAX, '1', 'bad when more than this share is missing'),
      p('rail_share', ends.RAIL_SHARE, '1', 'suspect when more samples of a light are its least, or its greatest'),
      p('perfusion_rms_max', spo2.PERFUSION_RMS_MAX, '1', 'bad above this root mean square of either light over its level'),
      p('apart_max', spo2.APART_MAX, '%', 'suspect when what the lights do slowly is another saturation, by more than this'),
      p('part_max', spo2.PART_MAX, '1', 'suspect when a quarter of the block has this many times the power of the weaker ones: a step'),
    ],
    limits: [
      'Uncalibrated without a calibration in the device profile: then never better than suspect.',
      'ppg.red and ppg.ir of one rate as raw light with its DC level; checked on synthetic light only.',
      'A motion that is as even as a pulse is one to it where no accelerometer tells.',
    ],
  },
  hr_ppg_motion: {
    parameters: [
      p('band_low', motionChannel.HIGH_PASS_HZ, 'Hz', 'lower edge of the band of pulse and motion'),
      p('band_high', motionChannel.LOW_PASS_HZ, 'Hz', 'upper edge of that band'),
      p('rate_min', 60 * motionChannel.RATE_MIN_HZ, '/min', 'lowest rate of the path'),
      p('rate_max', 60 * motionChannel.RATE_MAX_HZ, '/min', 'highest rate of the path'),
      p('taps', motionFilter.TAPS, '1', 'of the filter from each axis to each wavelength'),
      p('tap', motionFilter.TAP_SEC, 's', 'between two taps'),
      p('memory', motionFilter.MEMORY, '1', 'what a window counts for in the filter, against the one 2 s after it'),
      p('harmonic', motionRate.weights.harmonic, '1', "most that the second harmonic's power adds, as a share of the fundamental's"),
      p('change', motionRate.weights.changeBpm, '/min', 'standard deviation of the change in 2 s'),
      p('missing_max', motionChannel.MISSING_MAX, '1', 'share of missing samples above which a window has no spectrum'),
      p('still', motionFilter.stillG, '[g]', 'motion that counts half'),
      p('fast', motionTrust.fastPerMin, '/min', 'rate from which any motion at half of it makes it suspect'),
      p('half_min_fast', motionTrust.halfMinFast, '1', 'of such power taken off, over the largest'),
      p('good', motionTrust.motionFlagLimits.good, '1', 'probability of being within 5 /min from which a rate is good'),
      p('bad', motionTrust.motionFlagLimits.bad, '1', 'probability below which it is bad'),
      p(
        'bad_confidence',
        motionTrust.motionFlagLimits.badConfidence,
        '1',
        'without an accelerometer: share of power near the rate below which it is bad',
      ),
    ],
    limits: [
      'Without three axes of acceleration of one rate (at least 10 Hz) good only where hr_ppg is: at rest.',
      'An irregular pulse has no single line in a spectrum: at rest hr_ppg is the better one, where both are suspect.',
      'Chosen on six runs on a treadmill; a stride at exactly the rate of the heart hides it: twice or four times the rate of the strongest motion is at best suspect, so a heart at twice the swing of the arms is, too.',
      'Wavelengths are added: all must be given the same way up. One of them that is upside down takes the pulse away.',
    ],
  },
  perfusion_index: {
    parameters: [
      p('band_low', light.PULSE_BAND.low, 'Hz', 'lower edge of the band of the pulse'),
      p('band_high', light.PULSE_BAND.high, 'Hz', 'upper edge of that band'),
      p('parts', light.SWING_PARTS, '1', 'parts of the window, of whose greatest changes the lower median counts'),
      p('swing', light.SWING_SEC, 's', 'time within which a change counts: from the foot of a pulse to its top'),
      p('rail_share', ends.RAIL_SHARE, '1', 'suspect when more samples of the light are its least, or its greatest'),
      p('same_rate', beatValues.ofMotionShare, '1', 'suspect within this share of the rate of a motion, of its half or its double'),
      p('perfusion_max', light.PERFUSION_MAX, '%', 'none above this: the light was sent without its level'),
    ],
    limits: [
      'Light with its level, dark level taken off; from a device that takes the level off there are no values. Which way up the light is changes nothing.',
      'Comes from one wavelength, the first; each wavelength, each place on the body and each make of sensor has values of its own: compare a person with themselves.',
      'Checked on synthetic light only: no recording with its level was at hand. There it was within 12 % from 45 /min on, and within 25 % where breathing moves the level by 3 pulses at 0.2 Hz; at 0.3 Hz and more it is too high there.',
    ],
  },
  worn_ppg: {
    parameters: [
      p('stuck', pulseBeats.STUCK_SEC, 's', 'light that does not change for this long stands still'),
      p('still_min', light.STILL_MIN, '1', 'share of the window that stands still from which nothing is worn'),
      p(
        'white_min',
        light.WHITE_MIN,
        '1',
        'mean squared difference of neighbours over variance, from which a quarter of the window is noise; two are enough',
      ),
    ],
    limits: [
      'An object that moves before the sensor looks worn; a sensor that filters its noise away before it sends it, too: then suspect.',
      'All recordings at hand were worn: what was checked is that they are said to be.',
    ],
  },
};

const waveParameters = [
  p('rate_min', pulseWaves.PULSE_WAVE_MIN_HZ, 'Hz', 'slower signals give none'),
  p('averaged_rate', pulseWaves.AVERAGED_HZ, 'Hz', 'faster ones are averaged down to a rate from here to twice this'),
  p('smooth', pulseWave.SMOOTH_SEC, 's', 'standard deviation of the Gaussian that smooths the pulse, the averaging in it'),
  p('pulse_min', pulseWave.PULSE_MIN_SEC, 's', 'shorter pulses are not measured'),
  p('pulse_max', pulseWave.PULSE_MAX_SEC, 's', 'nor are longer ones'),
  p('foot', pulseWave.FOOT_SEC, 's', 'before the middle of the rise in which its least value lies'),
  p('b_reach', pulseWave.B_SEC, 's', 'after the steepest rise in which b lies'),
  p('notch_share', pulseWave.NOTCH_SHARE, '1', 'of the pulse in which the notch lies'),
  p('diastolic_share', pulseWave.DIASTOLIC_SHARE, '1', 'of the pulse in which the diastolic wave lies'),
  p('pulses_min', pulseWaves.PULSES_MIN, '1', 'fewer pulses give no value'),
  p('share_good', pulseWaves.PULSES_SHARE_GOOD, '1', "of the window's pulses, measured: with fewer a value is suspect"),
];
const waveLimits = [
  'A device that filters changes it: a high-pass at 0.5 Hz makes the pulse narrower by a fifth and the diastolic wave lower by most of its height, a low-pass at 5 Hz delays and rounds; of raw light, or of one device. See docs/dsp/pulse-and-slow.md.',
  'Hangs on the pulse rate, the place on the body, its temperature and the pressure of the sensor: compare a person with themselves.',
  'No value where the pulse may be upside down; taken from the first wavelength alone.',
  'Checked against a direct computation, not against readers: no recording at hand has points marked by people.',
];

/** By feature. */
const pulseWaveDetails: Readonly<Record<string, MethodDetails>> = Object.fromEntries(
  pulseWave.pulseWaveMeasures.map((measure) => [
    pulseWaveFeatures[measure],
    {
      parameters: [
        ...waveParameters,
        p(
          'spread_good',
          pulseWaves.PULSE_SPREAD_GOOD[measure],
          '1',
          'in the unit of the value: suspect when half of the pulses lie further off',
        ),
      ],
      limits: waveLimits,
    },
  ]),
);

/** @throws Error for a method without an entry: a programmer's error */
export function methodDetails(method: Method): MethodDetails {
  if (/^(hrv|prv)_/.test(method.feature)) return variability(method);
  const found = details[method.feature] ?? pulseWaveDetails[method.feature];
  if (found === undefined) throw new Error(`no parameters for ${method.feature}`);
  return found;
}
