/* assets.h - fleet.css and fleet.js as strings, made at build time by reports/html/embed.py, with the hashes that the
 * pages' policy names. */
#pragma once

extern const char fleet_style[], fleet_style_sha256[];
extern const char fleet_script[], fleet_script_sha256[];
extern const char fleet_monday[]; /* monday.sql */
