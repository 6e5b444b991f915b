/* style.h - style.css as a string, made at build time by embed.py, with the hash that the page's
 * policy names. */
#pragma once

extern const char html_style[];
extern const char html_style_sha256[]; /* base64 */
