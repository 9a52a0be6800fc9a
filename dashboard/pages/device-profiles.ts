/** Settings > Device profiles: which channels a kind of device sends. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatNumber, unitLabel } from '../../widgets/shared/format.ts';
import { formValues, Page } from '../page.ts';
import { badge } from '../parts.ts';
import type { BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { DeviceProfile } from '../service.ts';

type Kind = DeviceProfile['channels'][number]['kind'];

export class DeviceProfilesPage extends Page {
  override readonly title = 'Device profiles';
  protected override readonly lead = 'Clients read them from /api/v1/bootstrap to set a device up. A packet need not follow one.';
  #profiles: readonly DeviceProfile[] = [];

  protected override async load(): Promise<void> {
    this.#profiles = await call('GET', '/api/v1/device-profiles');
  }

  protected override body(): TemplateResult {
    return html`${this.#profiles.map((profile) => this.#profile(profile))}
      <section class="card">
        <h2>Add a profile</h2>
        <form class="fields" @submit=${(event: SubmitEvent) => this.#add(event)}>
          <label>Name<input name="name" required maxlength="200" autocomplete="off" /></label>
          <label>Code<input name="code" required pattern="[a-z][a-z0-9_.\\-]{0,62}" placeholder="acme-patch-2" autocomplete="off" /></label>
          <label>Manufacturer<input name="manufacturer" maxlength="200" autocomplete="off" /></label>
          <label>Model<input name="model" maxlength="200" autocomplete="off" /></label>
          <fieldset>
            <label
              >Channels <span class="muted">One a line: code, kind, Hz, unit, lead or place</span>
              <textarea
                name="channels"
                rows="4"
                spellcheck="false"
                placeholder="ecg.ii ecg 250 mV II&#10;ppg.ir ppg 100 1 wrist"
              ></textarea>
            </label>
          </fieldset>
          <div><button class="primary">Add profile</button></div>
        </form>
      </section>`;
  }

  #profile(profile: DeviceProfile): TemplateResult {
    const { locale } = this.context;
    return html`<section class="card">
      <div class="card-head">
        <h2>${profile.name}</h2>
        <code>${profile.code}</code> ${profile.built_in ? badge('off', 'built in') : ''}
        <span class="muted">${[profile.manufacturer, profile.model].filter((text) => text !== '').join(' · ')}</span>
      </div>
      ${
        profile.channels.length === 0
          ? html`<p class="muted">Any channels: devices of this profile say themselves what they send.</p>`
          : html`<ul class="channels">
              ${profile.channels.map(
                (channel) =>
                  html`<li>
                    <b>${channel.code}</b> <span class="muted">${channel.kind}${channel.lead === '' ? '' : `, ${channel.lead}`}</span
                    ><span
                      >${formatNumber(locale, channel.rate_hz, 4)}
                      Hz${unitLabel(channel.unit) === '' ? '' : ` · ${unitLabel(channel.unit)}`}</span
                    >
                  </li>`,
              )}
            </ul>`
      }
    </section>`;
  }

  #add(event: SubmitEvent): void {
    const { form, text } = formValues(event);
    const lines = text('channels')
      .split('\n')
      .map((line) => line.trim());
    const channels = lines
      .filter((line) => line !== '')
      .map((line) => {
        const [code = '', kind = 'other', rate = '', unit = '1', ...lead] = line.split(/\s+/);
        return { code, kind: kind as Kind, rate_hz: Number(rate), unit, lead: lead.join(' ') };
      });
    const body: BodyOf<'createDeviceProfile'> = {
      code: text('code'),
      name: text('name'),
      manufacturer: text('manufacturer'),
      model: text('model'),
      channels,
    };
    void this.change(() => call('POST', '/api/v1/device-profiles', { body }).then(() => form.reset()));
  }
}
