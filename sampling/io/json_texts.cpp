#include "sampling/io/json_texts.h"

#include <rapidjson/document.h>

namespace flowtrain {

JsonTexts append_json_texts(std::string_view list, std::vector<std::string>& items) {
  rapidjson::Document read;
  read.Parse<rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag>(list.data(), list.size());
  if (read.HasParseError() || !read.IsArray()) return JsonTexts::no_list;
  for (const auto& item : read.GetArray()) {
    if (!item.IsString()) return JsonTexts::other_items;
    items.emplace_back(item.GetString(), item.GetStringLength());
  }
  return JsonTexts::added;
}

}  // namespace flowtrain
