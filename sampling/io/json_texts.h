#pragma once
// Lists of texts in JSON, as cells of tables have them.

#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// Appends the items of a JSON list (RFC 8259), numbers as they are written; returns false if it is none, or holds
/// other things than texts and numbers.
bool append_json_texts(std::string_view list, std::vector<std::string>& items);

}  // namespace flowtrain
