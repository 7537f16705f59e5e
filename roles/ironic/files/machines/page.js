// Shows the overview as it comes. Every text is set as text: what a controller or a machine says is somebody else's.
"use strict";

const at = (id) => document.getElementById(id);
const rows = new Map(); // by machine
let shown = null; // the overview, and when it came
let token = "";
const ASKS = { // what may be decided, and what follows from it
  approve: "Its disks are written over.",
  retry: "It begins again, and its attempts are counted anew.",
};

const clock = (seconds) => {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole >= 8640000) return `${Math.floor(whole / 86400)} d`;
  if (whole >= 6000) return `${Math.floor(whole / 3600)} h`;
  return [Math.floor(whole / 60), whole % 60].map((part) => String(part).padStart(2, "0")).join(":");
};

// The time of the controller, by which `since` is meant.
const now = () => shown.time + (shown.age || 0) + (performance.now() - shown.came) / 1000;

function paragraph(cell, text) {
  const made = document.createElement("p");
  made.textContent = text;
  cell.append(made);
}

function button(machine, verb, about) { // about: who is shown beside it, and with what on its disks
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = verb;
  made.addEventListener("click", async () => {
    if (!confirm(`${verb} ${machine}? ${ASKS[verb]}`)) return;
    const answer = await fetch("v1/decisions", {
      method: "POST", headers: { "X-CSRF-Token": token }, body: JSON.stringify({ machine, verb, about }),
    });
    at("said").textContent = answer.ok ? "" : (await answer.json()).error;
  });
  return made;
}

function draw(machine) {
  let row = rows.get(machine.machine);
  if (!row) {
    row = document.createElement("tr");
    for (let count = 0; count < 7; count += 1) row.append(document.createElement("td"));
    rows.set(machine.machine, row);
  }
  const [name, rack, state, , about, doing, decide] = row.cells;
  name.textContent = machine.machine;
  rack.textContent = machine.rack || "-";
  state.textContent = machine.state || machine.provisioner || "-";
  about.textContent = machine.expected === null ? "-" : clock(machine.expected);
  doing.textContent = machine.card ? machine.card.what : machine.doing;
  if (machine.card) {
    paragraph(doing, machine.card.why);
    paragraph(doing, `remedy: ${machine.card.remedy}`);
  }
  decide.replaceChildren();
  const decision = (shown.decisions || {})[machine.machine];
  if (!decision || decision.outcome !== null) {
    for (const verb of Object.keys(ASKS)) {
      if (machine.may && machine.may[verb] === "") decide.append(button(machine.machine, verb, machine.asks));
    }
  }
  if (decision) {
    const outcome = decision.outcome === null ? "waits for a run of groundup.cloud.ironic" : decision.outcome;
    paragraph(decide, `${decision.verb} by ${decision.by}: ${outcome}`);
  }
  row.className = machine.moving ? "moving" : machine.card ? "failed" : machine.state === "serving" ? "serving" : "";
  return row;
}

function tick() {
  if (!shown || shown.time === null) return;
  for (const machine of shown.machines) {
    const row = rows.get(machine.machine);
    const elapsed = machine.since === null ? null : now() - machine.since;
    row.cells[3].textContent = elapsed === null ? "-" : clock(elapsed);
    row.classList.toggle("late", machine.moving && machine.expected !== null && elapsed > 2 * machine.expected);
  }
  const age = now() - shown.time;
  at("heard").textContent = age < 60 ? "" : `the controller was heard ${clock(age)} ago`;
}

function show(overview) {
  shown = { ...overview, came: performance.now() };
  at("site").textContent = shown.site;
  const states = new Map();
  for (const machine of shown.machines) {
    const state = machine.state || machine.provisioner;
    states.set(state, (states.get(state) || 0) + 1);
  }
  at("summary").textContent = [...states].map(([state, count]) => `${count} ${state}`).join(", ")
    || "the controller has not said anything yet";
  const names = new Set(shown.machines.map((machine) => machine.machine));
  for (const name of rows.keys()) if (!names.has(name)) rows.delete(name);
  at("machines").tBodies[0].replaceChildren(...shown.machines.map(draw));
  tick();
}

function enter(inside) {
  at("login").hidden = inside;
  at("machines").hidden = !inside;
  at("logout").hidden = !inside;
}

async function begin() {
  const answer = await fetch("v1/session");
  if (!answer.ok) {
    enter(false);
    at("password").focus();
    return;
  }
  token = (await answer.json()).token;
  enter(true);
  const events = new EventSource("v1/events");
  events.onmessage = (event) => show(JSON.parse(event.data));
  events.onerror = () => {
    at("heard").textContent = "the seed does not answer; trying again";
    if (events.readyState === EventSource.CLOSED) setTimeout(begin, 3000); // refused: the session may have ended
  };
}

at("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await fetch("v1/login", { method: "POST", body: JSON.stringify({ password: at("password").value }) });
  at("password").value = "";
  at("refused").textContent = answer.ok ? "" : (await answer.json()).error;
  if (answer.ok) begin();
});
at("logout").addEventListener("click", async () => {
  await fetch("v1/logout", { method: "POST", headers: { "X-CSRF-Token": token } });
  location.reload();
});
setInterval(tick, 1000);
begin();
