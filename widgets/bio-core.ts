/** The script /cdn/v1/bio-core.js: the provider and the widgets that need no chart library. Load this one or bio-widgets.js, not both. */
import './provider/provider.ts';
import './health-metrics/health-metrics.ts';
import './progress-ring/progress-ring.ts';
import './trend-card/trend-card.ts';
import './mood/mood.ts';
import './checkin/checkin.ts';
import './journal/journal.ts';
import './task-list/task-list.ts';
