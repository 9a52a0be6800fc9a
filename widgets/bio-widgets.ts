/** The script /cdn/v1/bio-widgets.js: the provider and every widget. */
import './bio-core.ts';
import './mood/mood.ts';
import './checkin/checkin.ts';
import './journal/journal.ts';
import './task-list/task-list.ts';
import './trend-chart/trend-chart.ts';
