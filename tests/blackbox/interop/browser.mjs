// A person's browser, played with plain requests: it keeps the cookie, says where its forms come from, signs in with a link
// and consents. For the scripts beside it.

export function browser(base, link) {
  let cookie;
  const seen = {};

  async function browse(url, form) {
    const headers = { Accept: "text/html", ...(cookie ? { Cookie: cookie } : {}) };
    if (form) Object.assign(headers, { Origin: base, "Content-Type": "application/x-www-form-urlencoded" });
    const answer = await fetch(new URL(url, base), { method: form ? "POST" : "GET", headers, redirect: "manual",
      body: form && new URLSearchParams(form).toString() });
    const set = answer.headers.get("set-cookie");
    if (set) cookie = set.split(";")[0];
    return answer;
  }
  const unescaped = (text) => text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  const hidden = (page, name) => unescaped(page.match(new RegExp(`name=${name} value="([^"]*)"`))[1]);

  // The person consents; the address that the browser is sent to next.
  async function consent(url, agent, scope) {
    let answer = await browse(url);
    seen.page = await answer.text();
    if (seen.page.includes("/oauth/sign-in")) {
      answer = await browse("/oauth/sign-in", { link, request: hidden(seen.page, "request") });
      answer = await browse(answer.headers.get("location"));
      seen.page = await answer.text();
    }
    seen.policy = answer.headers.get("content-security-policy");
    answer = await browse("/oauth/authorize", { request: hidden(seen.page, "request"),
      csrf: hidden(seen.page, "csrf"), agent, scope, days: "7", decision: "allow" });
    return new URL(answer.headers.get("location"));
  }
  return { consent, seen };
}
