#include "pipeline/engine/text/stop_texts.h"

#include <algorithm>
#include <utility>

namespace flowtrain {

StopTexts::StopTexts(std::vector<std::string> texts)
    : texts_([&] {
        std::erase(texts, std::string());
        return std::move(texts);
      }()) {}

std::string StopTexts::push(std::string_view piece) {
  if (found_) return {};
  held_ += piece;
  auto end = held_.npos;
  for (auto& text : texts_) end = std::min(end, held_.find(text));
  if (end != held_.npos) {
    found_ = true;
    held_.resize(end);
    return std::exchange(held_, {});
  }
  std::size_t kept = 0;  // bytes at the end that may begin one of the texts
  for (auto& text : texts_)
    for (auto size = std::min(text.size() - 1, held_.size()); size > kept; --size)
      if (std::string_view(held_).ends_with(std::string_view(text).substr(0, size))) kept = size;
  std::string passed = held_.substr(0, held_.size() - kept);
  held_.erase(0, passed.size());
  return passed;
}

std::string StopTexts::finish() { return std::exchange(held_, {}); }

}  // namespace flowtrain
