/** The script /cdn/v1/bio-widgets.js: the provider and every widget. */
import './bio-core.ts';
import './trend-chart/trend-chart.ts';
