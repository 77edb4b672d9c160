#pragma once
// Values of a JSON file that know their places, for messages.

#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/tokens/vocabulary.h"

namespace flowtrain {

/// A value and its place: "tokenizer.json: model.type". Accessors throw UserError(data) for a value of another type.
class JsonPlace {
 public:
  JsonPlace(const rapidjson::Value* value, std::string file, std::string path)
      : value_(value), file_(std::move(file)), path_(std::move(path)) {}

  /// Returns the file and the place in it.
  std::string name() const { return concat(file_, ": ", path_.empty() ? "the file" : path_); }
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(ExitCode::data, concat(name(), ": ", what),
                    "save the tokenizer by a current version of the program that made it");
  }
  /// Throws for what the file may say, but is not read here.
  [[noreturn]] void refuse(const std::string& what) const {
    throw UserError(ExitCode::data, concat(name(), ": ", what),
                    "use a tokenizer without it; docs/text.md says what is read");
  }
  bool exists() const { return value_ && !value_->IsNull(); }
  bool is_text() const { return value_ && value_->IsString(); }
  const rapidjson::Value& object() const {
    if (!value_ || !value_->IsObject()) fail("expected an object");
    return *value_;
  }
  const rapidjson::Value& list() const {
    if (!value_ || !value_->IsArray()) fail("expected a list");
    return *value_;
  }
  /// Returns the member; one that does not exist() if there is none.
  JsonPlace operator[](const char* key) const {
    const auto& members = object();
    const auto found = members.FindMember(key);
    return {found == members.MemberEnd() ? nullptr : &found->value, file_, path_.empty() ? key : path_ + "." + key};
  }
  std::size_t size() const { return list().Size(); }
  JsonPlace at(std::size_t i) const {
    return {&list()[static_cast<rapidjson::SizeType>(i)], file_, concat(path_, "[", i, "]")};
  }
  std::string_view text() const {
    if (!is_text()) fail("expected a text");
    return {value_->GetString(), value_->GetStringLength()};
  }
  std::string text_or(std::string_view fallback) const { return std::string(exists() ? text() : fallback); }
  bool flag_or(bool fallback) const {
    if (!exists()) return fallback;
    if (!value_->IsBool()) fail("expected true or false");
    return value_->GetBool();
  }
  std::uint32_t id() const {
    if (!value_ || !value_->IsUint() || value_->GetUint() >= max_token_id)
      fail(concat("expected an id from 0 to ", max_token_id - 1));
    return value_->GetUint();
  }
  double number() const {
    if (!value_ || !value_->IsNumber() || !std::isfinite(value_->GetDouble())) fail("expected a number");
    return value_->GetDouble();
  }
  /// Throws for a member that is there and not `expected`, a value that changes nothing.
  void refuse_unless(const char* key, bool expected) const {
    if (const auto member = (*this)[key]; member.flag_or(expected) != expected)
      member.refuse(expected ? "false is not supported" : "true is not supported");
  }
  [[noreturn]] void unsupported(const std::string& known) const {
    refuse(concat("'", text(), "' is not supported, but ", known));
  }

 private:
  const rapidjson::Value* value_;
  std::string file_, path_;
};

}  // namespace flowtrain
