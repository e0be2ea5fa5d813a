// The two pages of the authorization server: who are you, and may this client do that. Plain forms without
// scripts; any user name signs in.
const escaped = (text) =>
  String(text).replace(/[&<>"']/g, (it) => `&#${String(it.charCodeAt(0))};`);

function page(title, body) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

export const login = (uid) =>
  page(
    "Who are you?",
    `<form method="post" action="/interaction/${escaped(uid)}/login" autocomplete="off">
<p><label>User name <input name="user" required autofocus></label></p>
<p><button>Sign in</button></p>
</form>`,
  );

export const consent = (uid, client, user, scopes) =>
  page(
    `May ${client} do this?`,
    `<p>Signed in as ${escaped(user)}.</p>
<ul>${scopes.map((scope) => `<li>${escaped(scope)}</li>`).join("")}</ul>
<form method="post" action="/interaction/${escaped(uid)}/consent">
<p><button name="answer" value="allow">Allow</button> <button name="answer" value="deny">Deny</button></p>
</form>`,
  );
