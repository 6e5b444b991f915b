/* fleet.js - sorts tables by their headings, filters their rows, and gives each table as CSV and JSON. The page is whole
 * without it. What it shows stands in the address behind the '#', so that a link leads back to it. */
"use strict";
(() => {
	const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
	const remember = () => history.replaceState(null, "", "#" + state);
	const heads = table => [...table.tHead.rows[0].cells];
	const text = cell => cell.textContent.trim().replace(/\s+/g, " ");

	/* ---- sort ---- */

	/* What is not known comes last when the largest is first. */
	const value = cell => {
		if (cell.dataset.v === undefined)
			return text(cell).toLowerCase();
		return cell.dataset.v === "" ? -Infinity : Number(cell.dataset.v);
	};
	const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
	const sort = (table, column, down) => {
		const body = table.tBodies[0];
		const rows = [...body.rows].map((row, at) => ({ row, at, key: value(row.cells[column]) }));
		rows.sort((a, b) => (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.at - b.at);
		body.append(...rows.map(x => x.row));
		for (const head of heads(table))
			head.removeAttribute("aria-sort");
		heads(table)[column].setAttribute("aria-sort", down ? "descending" : "ascending");
	};
	const make_sortable = (table, name) => {
		heads(table).forEach((head, column) => {
			if (head.classList.contains("pic"))
				return;
			const button = document.createElement("button");
			button.type = "button";
			button.append(...head.childNodes);
			head.append(button);
			button.addEventListener("click", () => {
				const now = head.getAttribute("aria-sort");
				const down = now === null ? head.classList.contains("n") : now === "ascending";
				sort(table, column, down);
				state.set("sort-" + name, (down ? "-" : "") + column);
				remember();
			});
		});
		const wanted = /^(-?)(\d+)$/.exec(state.get("sort-" + name) ?? "");
		if (wanted !== null && Number(wanted[2]) < heads(table).length)
			sort(table, Number(wanted[2]), wanted[1] === "-");
	};

	/* ---- filter ---- */

	/* A program's directories stand under the pointer, and are found too. */
	const words_of = row => [text(row), ...[...row.querySelectorAll("[title]")].map(e => e.title)].join(" ").toLowerCase();
	const make_filter = (input, tables, told) => {
		const rows = tables.flatMap(t => [...t.tBodies[0].rows]).map(row => ({ row, text: words_of(row) }));
		const apply = () => {
			const words = input.value.toLowerCase().split(/\s+/).filter(w => w !== "");
			let shown = 0;
			for (const x of rows) {
				x.row.hidden = !words.every(w => x.text.includes(w));
				shown += x.row.hidden ? 0 : 1;
			}
			told.textContent = shown + " of " + rows.length + " rows";
		};
		input.value = state.get("filter") ?? "";
		input.addEventListener("input", () => {
			if (input.value === "")
				state.delete("filter");
			else
				state.set("filter", input.value);
			remember();
			apply();
		});
		apply();
	};

	/* ---- data ---- */

	/* A number as it was reckoned, a name with all of it, else what is read. */
	const datum = cell => {
		if (cell.dataset.v !== undefined)
			return cell.dataset.v === "" ? null : Number(cell.dataset.v);
		return cell.querySelector("[title]")?.title ?? text(cell);
	};
	const shown_rows = table => [...table.tBodies[0].rows].filter(row => !row.hidden);
	const columns = table => heads(table).flatMap((head, at) => (head.classList.contains("pic") ? [] : [{ name: text(head), at }]));
	/* RFC 4180; a text that a spreadsheet would reckon with is kept from it, also by the wide signs of East Asia. */
	const quoted = x => {
		const s = x === null ? "" : typeof x === "number" ? String(x) : x.replace(/(^|[,;"])(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/g, "$1'");
		return /[",\r\n]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s;
	};
	const csv = table => {
		const c = columns(table);
		return [c.map(x => x.name), ...shown_rows(table).map(row => c.map(x => datum(row.cells[x.at])))]
			.map(line => line.map(quoted).join(",") + "\r\n")
			.join("");
	};
	const json = table => {
		const rows = shown_rows(table).map(row => Object.fromEntries(columns(table).map(x => [x.name, datum(row.cells[x.at])])));
		return JSON.stringify(rows, null, 1) + "\n";
	};
	const link = (name, type, make) => {
		const a = document.createElement("a");
		a.download = name;
		a.href = "#";
		a.textContent = name.endsWith("csv") ? "CSV" : "JSON";
		a.addEventListener("click", () => (a.href = "data:" + type + ";charset=utf-8," + encodeURIComponent(make())));
		return a;
	};
	const give = (table, name) => {
		const p = document.createElement("p");
		p.className = "data";
		p.append("This table as shown: ", link(name + ".csv", "text/csv", () => csv(table)), ", ",
			 link(name + ".json", "application/json", () => json(table)));
		(table.closest(".scroll") ?? table).after(p);
	};

	const sortable = [...document.querySelectorAll("table.sortable")];
	sortable.forEach((table, at) => make_sortable(table, String(at)));
	document.querySelectorAll("main table").forEach(table => give(table, table.closest("section").id));
	const input = document.getElementById("filter");
	if (input !== null) {
		document.getElementById("tools").hidden = false;
		make_filter(input, sortable, document.getElementById("told"));
	}
	/* A node in the picture leads to its jobs, which may be folded. */
	const unfold = () => {
		const to = location.hash.startsWith("#n") ? document.getElementById(location.hash.slice(1)) : null;
		if (to !== null)
			to.closest("details").open = true;
	};
	addEventListener("hashchange", unfold);
	addEventListener("beforeprint", () => document.querySelectorAll("details.shows").forEach(d => (d.open = true)));
	unfold();
})();
