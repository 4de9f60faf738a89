// The script of the pages of crawl serve. It takes the parts of the page that have changed from
// a stream of the server, keeps the token of the address, and sends forms without leaving the
// page. Without it the page works, too: it is then loaded again every few seconds.
"use strict";
(() => {
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("parts", { createHTML: (text) => text })
    : { createHTML: (text) => text };
  // parse makes elements of a part. The elements of such a document run nothing.
  const parse = (text) => new DOMParser().parseFromString(policy.createHTML(text), "text/html").body;

  // The token is in the fragment of the address that crawl serve has printed. Browsers send the
  // fragment to no server.
  const key = "permesso-token";
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    localStorage.setItem(key, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  const fields = [...document.querySelectorAll("input[name=token]")];
  const fill = () => {
    const token = localStorage.getItem(key) ?? "";
    for (const field of fields) {
      field.value = token;
      field.parentElement.hidden = token !== "";
    }
  };
  fill();

  // morph makes an element like another one, and keeps what is the same: so the focus, the
  // scroll position and opened tables stay.
  const morph = (old, now) => {
    if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName || old.namespaceURI !== now.namespaceURI) {
      old.replaceWith(document.importNode(now, true));
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !now.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of now.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    children(old, now);
  };
  const children = (old, now) => {
    const are = [...old.childNodes];
    const want = [...now.childNodes];
    want.forEach((child, i) => {
      if (i < are.length) morph(are[i], child);
      else old.append(document.importNode(child, true));
    });
    for (const rest of are.slice(want.length)) rest.remove();
  };

  const waiting = new Map(); // parts that are not shown yet
  const hold = document.getElementById("hold");
  const held = () => hold?.getAttribute("aria-pressed") === "true";
  // A table in which the reader is about to follow a link stays as it is.
  const inUse = (part) => part.querySelector("tbody a:hover, tbody a:focus") !== null;
  const show = () => {
    if (held()) return;
    for (const [id, text] of waiting) {
      const part = document.querySelector(`[data-part="${CSS.escape(id)}"]`);
      if (part && inUse(part)) continue;
      if (part) children(part, parse(text));
      waiting.delete(id);
    }
  };
  document.addEventListener("focusout", () => setTimeout(show));
  document.addEventListener("mouseout", () => setTimeout(show));

  const layout = document.body.dataset.layout;
  const state = document.getElementById("live-state");
  if (layout && state && window.EventSource) {
    const say = (text) => {
      if (state.textContent !== text) state.textContent = text;
    };
    let stream = null;
    const open = () => {
      if (stream || document.hidden) return;
      stream = new EventSource(`live?layout=${encodeURIComponent(layout)}`);
      stream.onopen = () => say(held() ? "held" : "live");
      stream.onerror = () => {
        say("The connection is lost. Trying again.");
        if (stream.readyState !== EventSource.CLOSED) return;
        stream = null; // the server has refused it
        setTimeout(open, 10000);
      };
      stream.onmessage = (event) => {
        for (const [id, text] of Object.entries(JSON.parse(event.data))) waiting.set(id, text);
        say(held() ? "held" : "live");
        show();
      };
      stream.addEventListener("reload", () => {
        close();
        if (!held() && !document.activeElement?.closest("form")) location.reload();
        else say("The page has changed: load it again.");
      });
    };
    const close = () => {
      stream?.close();
      stream = null;
    };
    // A hidden page needs no stream: a browser has few connections to one server.
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    window.addEventListener("pagehide", close);
    window.addEventListener("pageshow", open);
    hold.addEventListener("click", () => {
      hold.setAttribute("aria-pressed", String(!held()));
      say(held() ? "held" : "live");
      show();
    });
    state.parentElement.hidden = false;
    open();
  }

  const said = document.getElementById("said");
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || !said) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form));
    let text;
    try {
      const answer = await fetch(event.submitter?.getAttribute("formaction") ?? form.getAttribute("action"), { method: "POST", body, headers: { Accept: "text/plain" } });
      text = await answer.text();
      if (answer.ok) {
        localStorage.setItem(key, body.get("token"));
        form.reset();
      } else if (answer.status === 403) {
        localStorage.removeItem(key);
      }
      fill();
    } catch {
      text = "The server did not answer. Nothing is known of the change.";
    }
    said.textContent = text.trim();
  });
})();
