/** The script /cdn/v1/bio-core.js: the provider and the widgets that show values. For pages that need neither forms nor charts.
 *  Load this one or bio-widgets.js, not both. */
import './provider/provider.ts';
import './health-metrics/health-metrics.ts';
import './progress-ring/progress-ring.ts';
import './trend-card/trend-card.ts';
