#pragma once
// Renders the live page of one or several runs.

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/runs/run_reader/appended_lines.h"
#include "pipeline/runs/serve/run_folders.h"

namespace flowtrain::serve {

/// Converts a mark to "OFFSET-HASH" and back; any other text is the beginning of the file.
std::string text_of(const ReadMark& mark);
ReadMark mark_of(std::string_view text);

/// Returns the report's page with scripts that keep it up to date. `nonce`: that of Content-Security-Policy.
std::string live_page(const std::vector<FoundRun>& runs, const std::string& nonce);

/// Returns the page's data: {"runs":[…],"differences":[…]}.
std::string live_data(const std::vector<FoundRun>& runs);

/// Returns a text that changes when live_data() does.
std::string data_tag(const std::vector<FoundRun>& runs);

}  // namespace flowtrain::serve
