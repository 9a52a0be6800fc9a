// The whole integration: get a token, hand it to the provider, get another one when it is about to end.
const provider = document.querySelector('bio-provider');

async function renew() {
  const response = await fetch('/token', { method: 'POST' });
  if (response.status === 401) location.assign('/sign-in');
  const { xuser_token } = await response.json();
  provider.setAttribute('xuser-token', xuser_token);
}

document.addEventListener('bio:token:expiring', () => void renew());
await renew();
