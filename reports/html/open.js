/* open.js - links into the trace: the viewer comes up over the page, at the place that the link names. What it needs
 * lies in the page as text, and is unpacked at the first click. Each place is an address of its own, so that Back
 * leads to where one was. */
"use strict";
(() => {
	const PLACE = "#view", KEPT_MOST = 100000;
	const root = document.documentElement;
	const packed = name => document.getElementById("carried-" + name);
	const command = name => "mpitrace view " + name;
	const { name, bytes: size, ranges } = packed("trace").dataset;
	const part = ranges && { bytes: Number(size), ranges: ranges.split(" ").map(x => x.split("+").map(Number)) };
	let dialog = null, says = null, frame = null, page = null, trace = null;
	const KEPT = "mpitrace views " + location.href.split("#")[0]; /* traces of many jobs have one name */
	let kept = "[]"; /* views that were saved in the viewer, whose frame keeps nothing */
	let returns = false; /* the entry before in the browser's history is this page without the viewer */

	/* ---- links ---- */

	const address = place => PLACE + "&" + place;
	/* A cell of ranks and time, by where it was clicked: its ranks stand in a list, its time is a part of the run. */
	const cell = (picture, event) => {
		const box = picture.getBoundingClientRect(), { ranks, ns, columns } = picture.dataset;
		const part = (at, from, length, n) => Math.min(n - 1, Math.max(0, Math.floor(((at - from) / length) * n)));
		const each = ns / columns, from = part(event.clientX, box.left, box.width, columns) * each;
		const time = (a, b) => Math.round(Math.max(0, a)) + "~" + Math.round(b);
		const rows = ranks ? ranks.split(" ") : [];
		const chosen = rows.length > 0 ? "&ranks=" + rows[part(event.clientY, box.top, box.height, rows.length)] : "";
		return "t=" + time(from - 2 * each, Math.min(ns, from + 3 * each)) + "&mark=" + time(from, from + each) + chosen;
	};
	for (const link of document.querySelectorAll("a[data-at]"))
		link.href = address(link.dataset.at);
	document.addEventListener("click", e => {
		const at = e.target.closest("[data-at], [data-ns]");
		if (at && at.localName !== "a")
			location.hash = address(at.dataset.at || cell(at, e));
	});
	root.classList.add("opens");

	/* ---- how much of an issue is repaired ---- */

	const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"]];
	const seconds = s => {
		const [size, unit] = UNITS.find(([least]) => s >= least) ?? UNITS[2];
		return (s / size).toPrecision(3) + "\u00a0" + unit;
	};
	for (const place of document.querySelectorAll("[data-gains]")) {
		const gains = place.dataset.gains.split(" ").map(Number), steps = gains.length - 1;
		const said = document.createElement("output"), range = document.createElement("input");
		Object.assign(range, { type: "range", min: 0, max: 100, value: 50, ariaLabel: "Percent of it repaired" });
		const say = () => {
			const at = (range.value / 100) * steps, i = Math.min(steps - 1, Math.floor(at));
			const gain = gains[i] + (at - i) * (gains[i + 1] - gains[i]);
			said.textContent = `${range.value}\u00a0% of it repaired: the run takes ` +
				`${seconds(place.dataset.run * (1 - gain))}, ${(100 * gain).toFixed(1)}\u00a0% less`;
		};
		range.addEventListener("input", say);
		say();
		place.append(document.createElement("br"), range, said);
	}

	/* ---- what the page carries ---- */

	const bytes = element => {
		const text = atob(element.textContent), out = new Uint8Array(text.length);
		for (let i = 0; i < text.length; i++)
			out[i] = text.charCodeAt(i);
		return out;
	};
	const inflated = async data => {
		const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
		return new Response(stream, { headers: { "content-type": "text/html; charset=utf-8" } }).blob();
	};
	const unpack = async () => {
		page ??= URL.createObjectURL(await inflated(bytes(packed("viewer"))));
		trace ??= new Blob([bytes(packed("trace"))]);
	};

	/* ---- the viewer over the page ---- */

	const element = (kind, words, ...children) => {
		const e = Object.assign(document.createElement(kind), words);
		e.append(...children);
		return e;
	};
	const make = () => {
		says = element("span", { className: "says", role: "status" });
		const back = element("button", { type: "button", onclick: () => leave() }, "\u2039 Back to the report");
		dialog = element("dialog", { className: "viewer", ariaLabel: "The trace" }, element("header", {}, back, says));
		dialog.addEventListener("cancel", e => (e.preventDefault(), leave()));
		document.body.append(dialog);
	};
	const show = async place => {
		if (!dialog)
			make();
		frame?.remove();
		frame = element("iframe", { title: "The trace in the viewer" });
		frame.sandbox = "allow-scripts allow-downloads";
		says.textContent = "Unpacking " + name + " \u2026";
		if (!dialog.open)
			dialog.showModal();
		const mine = frame;
		try {
			await unpack();
		} catch {
			says.textContent = "This browser cannot unpack it. In a terminal: " + command(name);
			return;
		}
		if (mine !== frame)
			return; /* left, or gone on, in the meantime */
		frame.onload = () => {
			mine.contentWindow.postMessage({ trace, name, part, kept }, "*");
			mine.contentWindow.focus();
		};
		frame.src = page + "#" + place;
		says.textContent = part ? "A part of " + name + ". All of it: " + command(name) : name;
		dialog.append(frame);
	};
	const hide = () => {
		frame?.remove();
		frame = null;
		if (dialog?.open)
			dialog.close(); /* what had the focus has it again */
	};
	const leave = () => {
		if (!frame)
			return;
		hide();
		if (returns)
			history.back();
		else
			history.replaceState(null, "", location.href.split("#")[0]);
	};
	const follow = () => {
		const { hash } = location;
		if (hash.startsWith(PLACE))
			show(hash.slice(PLACE.length + 1));
		else
			hide();
	};
	addEventListener("hashchange", e => {
		returns = !new URL(e.oldURL).hash.startsWith(PLACE);
		follow();
	});
	const keep = text => {
		kept = text;
		try {
			localStorage.setItem(KEPT, text);
		} catch {
			/* kept until the page is closed */
		}
	};
	addEventListener("message", e => {
		if (!frame || e.source !== frame.contentWindow)
			return;
		if (e.data === "back")
			leave();
		else if (typeof e.data?.keep === "string" && e.data.keep.length < KEPT_MOST)
			keep(e.data.keep);
	});
	try {
		kept = localStorage.getItem(KEPT) ?? kept;
	} catch {
		/* a browser that keeps nothing for files */
	}
	follow();
})();
