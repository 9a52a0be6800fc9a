/** The script /cdn/v1/bio-widgets.js: the provider and every widget. */
import './provider/provider.ts';
import './live-trace/live-trace.ts';
