/* fleet.js - sorts tables by their headings and filters their rows. The page is whole without it. What it shows stands in
 * the address behind the '#', so that a link leads back to it. */
"use strict";
(() => {
	const state = new URLSearchParams(location.hash.slice(1));
	const remember = () => history.replaceState(null, "", "#" + state);
	const value = (row, column) => {
		const cell = row.cells[column];
		return cell.dataset.v === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.v);
	};
	const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
	const sort = (table, column, down) => {
		const body = table.tBodies[0], heads = table.tHead.rows[0].cells;
		const rows = [...body.rows].map((row, at) => ({ row, at, key: value(row, column) }));
		rows.sort((a, b) => (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.at - b.at);
		body.append(...rows.map(x => x.row));
		for (const head of heads)
			head.removeAttribute("aria-sort");
		heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
	};
	const make_sortable = (table, name) => {
		[...table.tHead.rows[0].cells].forEach((head, column) => {
			if (head.textContent.trim() === "")
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
		const wanted = state.get("sort-" + name);
		if (wanted !== null && Math.abs(Number(wanted)) < table.tHead.rows[0].cells.length)
			sort(table, Math.abs(Number(wanted)), wanted.startsWith("-"));
	};
	const make_filter = (input, table, told) => {
		const rows = [...table.tBodies[0].rows].map(row => ({ row, text: row.textContent.toLowerCase() }));
		const apply = () => {
			const words = input.value.toLowerCase().split(/\s+/).filter(w => w !== "");
			let shown = 0;
			for (const x of rows) {
				x.row.hidden = !words.every(w => x.text.includes(w));
				shown += x.row.hidden ? 0 : 1;
			}
			told.textContent = shown + " of " + rows.length + " rows";
		};
		input.value = state.get("filter") || "";
		input.addEventListener("input", () => {
			state.set("filter", input.value);
			remember();
			apply();
		});
		apply();
	};
	document.querySelectorAll("table.sortable").forEach((table, at) => make_sortable(table, String(at)));
	const input = document.getElementById("filter");
	if (input !== null) {
		document.getElementById("tools").hidden = false;
		make_filter(input, document.querySelector("table.sortable"), document.getElementById("told"));
	}
})();
