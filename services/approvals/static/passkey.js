// Asks the browser for a passkey and sends its answer with the form that it belongs to. Without this script the page offers one-time codes.
"use strict";
(() => {
  const form = document.querySelector("form[data-passkey]");
  if (!form || !window.PublicKeyCredential || !PublicKeyCredential.parseRequestOptionsFromJSON) return;
  const making = form.dataset.passkeyUse === "make";
  const answer = form.elements.namedItem("passkey");
  const place = document.getElementById("passkey-place");
  const button = document.createElement("button");
  button.type = "button";
  button.id = "passkey-button";
  button.textContent = form.dataset.passkeyLabel;
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    said.textContent = "";
    button.disabled = true;
    try {
      const options = JSON.parse(form.dataset.passkey);
      const credential = making
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      answer.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch {
      said.textContent = "The passkey was not used. Nothing was sent. Try again, or go another way.";
      button.disabled = false;
    }
  });
  place.replaceChildren(button, said);
})();
