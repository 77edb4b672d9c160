#pragma once
// The page of a run, or of several over one another, as it goes on.

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/runs/run_reader/appended_lines.h"
#include "pipeline/runs/serve/run_folders.h"

namespace flowtrain::serve {

/// "OFFSET-HASH", and back; the beginning of the file for any other text.
std::string text_of(const ReadMark& mark);
ReadMark mark_of(std::string_view text);

/// HTML: the report's page with what keeps it up to date. `nonce` is that of the answer's Content-Security-Policy.
std::string live_page(const std::vector<FoundRun>& runs, const std::string& nonce);

/// Returns the page's data: {"runs":[…],"differences":[…]}.
std::string live_data(const std::vector<FoundRun>& runs);

/// A text that changes when live_data() does.
std::string data_tag(const std::vector<FoundRun>& runs);

}  // namespace flowtrain::serve
