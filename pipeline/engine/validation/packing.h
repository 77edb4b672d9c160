#pragma once
// Packs values as bytes for other processes of the program. Numbers keep their form in memory.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sampling/tokens/edits.h"

namespace flowtrain {

template <class T>
void put(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_all(std::string& bytes, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  put(bytes, std::uint64_t{values.size()});
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

inline void put_text(std::string& bytes, std::string_view text) {
  put(bytes, std::uint64_t{text.size()});
  bytes += text;
}

/// Takes a value of put() from the front of `bytes`.
template <class T>
T take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

/// Takes the values of put_all() from the front of `bytes`.
template <class T>
std::vector<T> take_all(std::string_view& bytes) {
  std::vector<T> values(take<std::uint64_t>(bytes));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  bytes.remove_prefix(values.size() * sizeof(T));
  return values;
}

inline void put_transcript(std::string& bytes, const Transcript& transcript) {
  put_text(bytes, transcript.reference), put_text(bytes, transcript.hypothesis);
  put(bytes, transcript.words), put(bytes, transcript.characters);
}

/// Takes the text of put_text() from the front of `bytes`.
inline std::string take_text(std::string_view& bytes) {
  const auto size = take<std::uint64_t>(bytes);
  std::string text(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return text;
}

/// Takes the transcript of put_transcript() from the front of `bytes`.
inline Transcript take_transcript(std::string_view& bytes) {
  Transcript transcript{.reference = take_text(bytes), .hypothesis = take_text(bytes)};
  transcript.words = take<EditCount>(bytes), transcript.characters = take<EditCount>(bytes);
  return transcript;
}

}  // namespace flowtrain
