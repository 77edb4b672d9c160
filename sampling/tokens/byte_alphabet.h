#pragma once
// Bytes as characters that can be printed: GPT-2's alphabet (Radford et al., 2019, encoder.py) and base64 (RFC 4648).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

/// Returns the character that stands for a byte: itself where it can be printed, else one from U+0100 on.
char32_t byte_character(unsigned char byte);
/// Returns the bytes in the alphabet, in UTF-8: " the" is "Ġthe".
std::string in_byte_alphabet(std::string_view bytes);
/// Returns the bytes that a text in the alphabet stands for; nothing if it has other characters.
std::optional<std::string> from_byte_alphabet(std::string_view text);
/// Returns the bytes that a text in base64 stands for; nothing if it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace flowtrain
