/** The sentences of the recording viewer; apart, so that the other scripts do not carry them. */
export const recordingTexts = {
  recordingLabel: 'Recording of {device}, {range}',
  wholeRecording: 'Whole recording: range of the signal, coverage and quality, heart rate, episodes',
  disclosure: 'Page of {minutes} min, a row for each {seconds} s',
  strip: 'Strip',
  stripLabel: 'Strip of {seconds} s from {time}, {speed} mm/s, {gain} mm/mV',
  stripHint:
    'Arrow keys move, Page Up and Page Down by a page, Home and End to the ends, plus and minus change the speed, N and P go to the next and previous event, C sets calipers',
  paperSpeed: 'Paper speed',
  gain: 'Gain',
  rowSeconds: 'Row',
  channels: 'Channels',
  filter: 'Filter 0.5–40 Hz',
  filterOn: 'Filtered 0.5–40 Hz: not for measuring ST or T',
  calipers: 'Calipers',
  marchOut: 'March out',
  caliperReading: '{ms} ms = {bpm} /min, {mv}',
  previousEvent: 'Previous',
  nextEvent: 'Next',
  jumpTo: 'Jump to',
  jumpEpisode: 'Episode or mark',
  jumpEctopic: 'Ectopic beat',
  jumpGap: 'Gap',
  jumpQuality: 'Bad quality',
  noMore: 'There is no other one in this direction',
  gap: 'no signal',
  goTo: 'Go to',
  notDiagnosis: 'No alarms. Not a medical device.',
  atTime: '{time}, heart rate {hr}, {quality}',
  noRecording: 'There is no such recording, or nothing was recorded',
} as const;

export type RecordingTextKey = keyof typeof recordingTexts;
