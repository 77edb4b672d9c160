#pragma once
// The encoding of protocol buffers (protobuf.dev/programming-guides/encoding), as far as TensorBoard's events need it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// Writes a message, field by field, each with its number from the .proto file.
class ProtoWriter {
 public:
  void number(unsigned field, std::uint64_t value);
  void real(unsigned field, double value);                        ///< writes type double
  void short_real(unsigned field, float value);                   ///< writes type float
  void text(unsigned field, std::string_view bytes);              ///< writes type string or bytes, or a message
  void reals(unsigned field, const std::vector<double>& values);  ///< writes repeated double, packed
  const std::string& bytes() const { return bytes_; }

 private:
  void key(unsigned field, unsigned wire_type);
  void varint(std::uint64_t value);

  std::string bytes_;
};

/// A field of a message.
struct ProtoField {
  unsigned number = 0;
  std::uint64_t value = 0;      ///< value of an integer type
  std::string_view bytes = {};  ///< content of a string or a message
};

/// Calls `visit` with each field. It ends early if the bytes are no message.
void each_field(std::string_view message, const std::function<void(const ProtoField&)>& visit);

}  // namespace flowtrain
