/** The script /cdn/v1/bio-recording.js: the provider and the viewer of recordings. */
import './provider/provider.ts';
import './recording/recording.ts';
