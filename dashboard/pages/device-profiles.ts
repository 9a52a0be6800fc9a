/** Settings > Device profiles: which channels a kind of device sends. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatNumber, unitLabel } from '../../widgets/shared/format.ts';
import { named, t } from '../language.ts';
import { formValues, Page } from '../page.ts';
import { badge } from '../parts.ts';
import type { BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { Device, DeviceProfile } from '../service.ts';

const DEVICES_MAX = 200;

type Kind = DeviceProfile['channels'][number]['kind'];

export class DeviceProfilesPage extends Page {
  override readonly title = t('Device profiles');
  protected override readonly lead = t(
    'Clients read profiles from /api/v1/bootstrap to set up a device. Packets do not have to follow a profile.',
  );
  #profiles: readonly DeviceProfile[] = [];
  #devices: readonly Device[] = [];
  #assigned = '';

  protected override async load(): Promise<void> {
    [this.#profiles, this.#devices] = await Promise.all([
      call('GET', '/api/v1/device-profiles'),
      call('GET', '/api/v1/devices', { query: { limit: DEVICES_MAX } }),
    ]);
  }

  protected override body(): TemplateResult {
    return html`${this.#profiles.map((profile) => this.#profile(profile))} ${this.#devices.length === 0 ? nothing : this.#assignment()}
      <section class="card">
        <h2>${t('Add a profile')}</h2>
        <form class="fields" @submit=${(event: SubmitEvent) => this.#add(event)}>
          <label>${t('Name')}<input name="name" required maxlength="200" autocomplete="off" /></label>
          <label
            >${t('Code')}<input name="code" required pattern="[a-z][a-z0-9_.\\-]{0,62}" placeholder="acme-patch-2" autocomplete="off"
          /></label>
          <label>${t('Manufacturer')}<input name="manufacturer" maxlength="200" autocomplete="off" /></label>
          <label>${t('Model')}<input name="model" maxlength="200" autocomplete="off" /></label>
          <fieldset>
            <label
              >${t('Channels')} <span class="muted">${t('One per line: code, kind, Hz, unit, lead or site')}</span>
              <textarea
                name="channels"
                rows="4"
                spellcheck="false"
                placeholder="ecg.ii ecg 250 mV II&#10;ppg.ir ppg 100 1 wrist"
              ></textarea>
            </label>
          </fieldset>
          <fieldset>
            <legend>${t('Oximeter: SpO₂ = offset − slope × R')}</legend>
            <p class="muted">
              ${t("R is the ratio of pulsation in red and infrared light. Take the numbers from the manufacturer's calibration study; without them, SpO₂ from this device is never rated better than suspect. They apply to recordings that start after the profile is assigned.")}
            </p>
            <div class="row">
              <label>${t('Offset, %')} <input name="offset" type="number" step="any" min="1" max="200" placeholder="110" /></label>
              <label>${t('Slope, %')} <input name="slope" type="number" step="any" min="1" max="200" placeholder="25" /></label>
            </div>
          </fieldset>
          <div><button class="primary">${t('Add profile')}</button></div>
        </form>
      </section>`;
  }

  #profile(profile: DeviceProfile): TemplateResult {
    const { locale } = this.context;
    return html`<section class="card">
      <div class="card-head">
        <h2>${profile.built_in ? named(profile.name) : profile.name}</h2>
        <code>${profile.code}</code> ${profile.built_in ? badge('off', t('built in')) : ''}
        <span class="muted">${[profile.manufacturer, profile.model].filter((text) => text !== '').join(' · ')}</span>
      </div>
      ${
        profile.channels.length === 0
          ? html`<p class="muted">${t('Any channels: devices with this profile declare what they send.')}</p>`
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
      ${
        profile.spo2_calibration === null
          ? nothing
          : html`<p>
              SpO₂ = ${formatNumber(locale, profile.spo2_calibration.offset, 4)} −
              ${formatNumber(locale, profile.spo2_calibration.slope, 4)} × R
            </p>`
      }
    </section>`;
  }

  #assignment(): TemplateResult {
    return html`<section class="card">
      <h2>${t('Assign a profile to a device')}</h2>
      <form class="row" @submit=${(event: SubmitEvent) => this.#assign(event)}>
        <label
          >${t('Device')}
          <select name="device">
            ${this.#devices.map((device) => html`<option value=${device.device_id}>${device.name || device.device_id}</option>`)}
          </select></label
        >
        <label
          >${t('Profile')}
          <select name="profile" required>
            <option value="">${t('Choose a profile')}</option>
            <option value="none">${t('No profile')}</option>
            ${this.#profiles.map((profile) => html`<option value=${profile.id}>${named(profile.name)}</option>`)}
          </select></label
        >
        <button>${t('Assign')}</button>
      </form>
      <p role="status" class="muted">${this.#assigned}</p>
    </section>`;
  }

  #assign(event: SubmitEvent): void {
    const { text } = formValues(event);
    const profile = this.#profiles.find(({ id }) => id === text('profile'));
    void this.run(async () => {
      const params = { deviceId: text('device') };
      const { device_id: device } = await call('PUT', '/api/v1/devices/{deviceId}/profile', {
        params,
        body: { profile_id: profile?.id ?? null },
      });
      this.#assigned =
        profile === undefined
          ? t('{device} uses no profile from its next recording.', { device })
          : t('{device} uses the profile {profile} from its next recording.', { device, profile: profile.name });
    });
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
    const [offset, slope] = [text('offset'), text('slope')];
    const body: BodyOf<'createDeviceProfile'> = {
      code: text('code'),
      name: text('name'),
      manufacturer: text('manufacturer'),
      model: text('model'),
      channels,
      // The service refuses one of the two alone: an empty field is 0 here, which it does not take.
      spo2_calibration: offset === '' && slope === '' ? null : { offset: Number(offset), slope: Number(slope) },
    };
    const words = ([field, part]: readonly string[]): string | undefined => {
      if (field === 'channels' && part !== undefined)
        return t('Channel {number} is not written as it has to be.', { number: Number(part) + 1 });
      if (field === 'spo2_calibration' && (offset === '' || slope === '')) return t('Offset and slope are needed together, or neither.');
      return undefined;
    };
    void this.change(() => call('POST', '/api/v1/device-profiles', { body }).then(() => form.reset()), form, words);
  }
}
