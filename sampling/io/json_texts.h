#pragma once
// Lists of texts in JSON, as cells of tables have them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// The kind of a text.
enum class JsonTexts : std::uint8_t { added, no_list, other_items };

/// Appends the items of a JSON list (RFC 8259), numbers as they are written, and returns `added`; or tells that it is
/// none, or holds other things than texts and numbers, with some items appended.
JsonTexts append_json_texts(std::string_view list, std::vector<std::string>& items);

}  // namespace flowtrain
