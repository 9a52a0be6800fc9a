/** The script /cdn/v1/bio-core.js: the provider and the widgets without charts. Load this one or bio-widgets.js, not both. */
import './provider/provider.ts';
