#pragma once
// Writes tar archives for tests, right and wrong ones.

#include <cstdio>
#include <string>
#include <string_view>

namespace flowtrain {

/// An archive in memory. Each method appends; end() adds the end mark.
class TarBytes {
 public:
  struct Field {
    std::size_t at;
    std::string_view bytes;
  };

  /// A header of `type` with the size of `data` and, after it, `data`. `changes` overwrite parts of the header before
  /// its checksum is made.
  TarBytes& entry(std::string_view name, std::string_view data, char type = '0',
                  std::initializer_list<Field> changes = {}) {
    std::string header(512, '\0');
    put(header, 0, name.substr(0, 100));
    put(header, 100, "0000644");
    put(header, 124, octal(data.size(), 11));
    header[156] = type;
    put(header, 257,
        std::string_view("ustar\0"
                         "00",
                         8));
    for (const auto& change : changes) put(header, change.at, change.bytes);
    put(header, 148, "        ");
    unsigned sum = 0;
    for (const unsigned char byte : header) sum += byte;
    put(header, 148, octal(sum, 6) + '\0' + ' ');
    bytes_ += header;
    bytes_ += data;
    bytes_.resize((bytes_.size() + 511) / 512 * 512);
    return *this;
  }
  /// A pax header with one record, for the entry after it.
  TarBytes& pax(const std::string& key, const std::string& value) {
    const auto rest = ' ' + key + '=' + value + '\n';
    auto length = rest.size() + 1;
    while (std::to_string(length).size() + rest.size() != length) ++length;
    return entry("pax", std::to_string(length) + rest, 'x');
  }
  std::string end() const { return bytes_ + std::string(1024, '\0'); }
  /// Returns the archive, which has no end mark.
  const std::string& bytes() const { return bytes_; }

  static std::string octal(unsigned long long value, int digits) {
    char text[32];
    std::snprintf(text, sizeof(text), "%0*llo", digits, value);
    return text;
  }

 private:
  static void put(std::string& header, std::size_t at, std::string_view bytes) {
    header.replace(at, bytes.size(), bytes);
  }

  std::string bytes_;
};

}  // namespace flowtrain
