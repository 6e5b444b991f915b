/* style.h - style.css and open.js as strings, made at build time by embed.py, with the hashes that the
 * page's policy names. */
#pragma once

extern const char html_style[], html_open[];
extern const char html_style_sha256[], html_open_sha256[]; /* base64 */
