// PNG, JPEG, WebP and IDX.

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

#include "tests/fuzz/hostile/hostile.h"
#include "tests/support/pictures.h"
#include "tests/support/torch_bytes.h"

namespace flowtrain::hostile {
namespace {

using namespace std::string_literals;
using test::le;

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string chunk(const std::string& kind, const std::string& data) {
  const auto both = kind + data;
  const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(both.data()), static_cast<uInt>(both.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + both + big_endian(static_cast<std::uint32_t>(checksum));
}

std::string png(std::uint32_t width, std::uint32_t height, const std::string& format, const std::string& idat,
                const std::string& chunks = "") {
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", big_endian(width) + big_endian(height) + format) + chunks +
         chunk("IDAT", idat) + chunk("IEND", "");
}

void add_pngs(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const std::string& bytes) {
    cases.push_back({"PNG: " + what, "image", bytes});
  };
  const std::string rgb("\x08\x02\0\0\0", 5), few = packed("zeros", 1, 15);
  for (const std::uint32_t side : {0u, 4096u, 65536u, 1u << 30, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    add("side " + std::to_string(side), png(side, side, rgb, few));
    add("width " + std::to_string(side), png(side, 1, rgb, few));
    add("height " + std::to_string(side), png(1, side, rgb, few));
  }
  add("bomb of 75 MB", png(5000, 5000, rgb, packed(std::string(15001, '\0'), 5000, 15)));
  add("interlaced bomb", png(5000, 5000, std::string("\x08\x02\0\0\1", 5), packed(std::string(15001, '\0'), 5000, 15)));
  add("deepest pixels", png(16000, 16000, std::string("\x10\x06\0\0\0", 5), few));
  add("rows that are not there", png(4000, 4000, rgb, few));
  std::string texts;
  const auto text = packed(std::string(1 << 16, 'x'), 100, 15);
  for (int i = 0; i < 300; ++i) texts += chunk("zTXt", std::string("k\0\0", 3) + text);
  add("300 packed texts of 6 MB each", png(2, 2, rgb, few, texts));
  add("packed colour profile", png(2, 2, rgb, few, chunk("iCCP", std::string("p\0\0", 3) + text)));
  add("a chunk of 2 GiB", png(1, 1, rgb, few).insert(33, "\x7f\xff\xff\xffzTXt"));
  add("palette without one", png(1, 1, std::string("\x08\x03\0\0\0", 5), few));
  for (const char bad : {'\x01', '\x03', '\x20'}) add("odd depth", png(1, 1, std::string{bad, 2, 0, 0, 0}, few));
  add("odd colour", png(1, 1, std::string("\x08\x07\0\0\0", 5), few));
  add("odd interlacing", png(1, 1, std::string("\x08\x02\0\0\x09", 5), few));
}

/// All of one colour.
Image flat_picture(int side) {
  Image image;
  image.reshape(side, side, 3);
  std::ranges::fill(image.pixels, std::uint8_t{0});
  return image;
}

void add_jpegs(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const std::string& bytes) {
    cases.push_back({"JPEG: " + what, "image", bytes});
  };
  const auto encoded = [](bool progressive) {
    const auto bytes = encode_jpeg(gradient_picture(16, 16, 3), progressive);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  for (const bool progressive : {false, true}) {
    const auto good = encoded(progressive);
    const auto frame = good.find(progressive ? "\xff\xc2" : "\xff\xc0");
    if (frame == good.npos) throw std::logic_error("no frame header");
    const auto with = [&](std::size_t at, const std::string& bytes) {
      auto changed = good;
      changed.replace(frame + at, bytes.size(), bytes);
      return changed;
    };
    const std::string kind = progressive ? "progressive " : "";
    for (const auto& side : {"\xff\xff"s, "\x80\x01"s, "\x10\x01"s, "\x10\0"s})
      add(kind + "of great sides", with(5, side + side));
    add(kind + "without width", with(7, std::string(2, '\0')));
    add(kind + "of 12 bits", with(4, "\x0c"));
    add(kind + "of 255 components", with(9, "\xff"));
    for (const char factor : {'\0', '\x0f', '\xff'}) add(kind + "of odd sampling", with(11, std::string(1, factor)));
    add(kind + "with two frames", std::string(good).insert(frame, good.substr(frame, 19)));
    add(kind + "cut", good.substr(0, good.size() / 2));
    const auto scan = good.rfind("\xff\xda");
    auto scans = good.substr(0, good.size() - 2);
    for (int i = 0; i < 5000; ++i) scans += good.substr(scan, good.size() - 2 - scan);
    add(kind + "of 5,000 scans", scans + "\xff\xd9");
  }
  const auto bomb = encode_jpeg(flat_picture(4096), true, {1, 1});
  add("progressive, of 2^24 pixels, cut", {reinterpret_cast<const char*>(bomb.data()), 100'000});
  add("start alone", "\xff\xd8\xff");
  add("64 KiB of fill", "\xff\xd8" + std::string(1 << 16, '\xff'));
}

void add_webps(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const std::string& bytes) {
    cases.push_back({"WebP: " + what, "image", bytes});
  };
  const auto chunk = [](const std::string& kind, const std::string& data) {
    return kind + le(static_cast<std::uint32_t>(data.size())) + data + std::string(data.size() % 2, '\0');
  };
  const auto riff = [](const std::string& chunks) {
    return "RIFF" + le(static_cast<std::uint32_t>(chunks.size() + 4)) + "WEBP" + chunks;
  };
  const auto extended = [&](char flags, std::uint32_t width, std::uint32_t height) {
    return chunk("VP8X", std::string{flags, 0, 0, 0} + le(width - 1).substr(0, 3) + le(height - 1).substr(0, 3));
  };
  const auto data_of = [](const Image& image,
                          bool lossless) {  // behind "RIFF", a size, "WEBP", "VP8 " or "VP8L", a size
    const auto bytes = encode_webp(image, lossless);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()).substr(20);
  };
  const auto lossless = data_of(gradient_picture(16, 16, 3), true), lossy = data_of(gradient_picture(16, 16, 3), false);
  // 14 bits of width less one, then as many of height, after a byte; for a lossy picture 16 bits of each after six.
  const auto lossless_sides = [&](std::uint32_t side) {
    return std::string(lossless).replace(1, 4, le((side - 1) | (side - 1) << 14));
  };
  const auto lossy_sides = [&](std::uint32_t side) { return std::string(lossy).replace(6, 4, le(side | side << 16)); };
  for (const std::uint32_t side : {1u << 12, (1u << 12) + 1, (1u << 14) - 1}) {
    add("lossless side " + std::to_string(side), riff(chunk("VP8L", lossless_sides(side))));
    add("lossy side " + std::to_string(side), riff(chunk("VP8 ", lossy_sides(side))));
    add("side " + std::to_string(side) + " with alpha and no picture", riff(extended(0x10, side, side)));
    add("side " + std::to_string(side) + " around a small picture",
        riff(extended(0x10, side, side) + chunk("VP8L", lossless)));
  }
  add("lossy without sides", riff(chunk("VP8 ", lossy_sides(0))));
  add("bomb", riff(chunk("VP8L", data_of(flat_picture(5000), true))));
  add("bomb of 2^24 pixels", riff(chunk("VP8L", data_of(flat_picture(4096), true))));
  add("sides of 2^24", riff(extended(0, 1 << 24, 1 << 24) + chunk("VP8L", lossless)));
  add("an animation", riff(extended(2, 16, 16) + chunk("ANIM", std::string(6, '\0'))));
  add("a chunk of 4 GiB", riff("VP8L\xff\xff\xff\xff" + lossless));
  add("a file of 4 GiB", "RIFF\xff\xff\xff\xffWEBP" + chunk("VP8L", lossless));
  add("lossless cut", riff(chunk("VP8L", lossless.substr(0, lossless.size() / 2))));
  add("lossy cut", riff(chunk("VP8 ", lossy.substr(0, lossy.size() / 2))));
  add("of a later version", riff(chunk("VP8L", std::string(lossless).replace(4, 1, "\xe0"))));
  add("two alphas and no picture", riff(extended(0x10, 16, 16) + chunk("ALPH", "\1x") + chunk("ALPH", "\1x")));
  add("start alone", std::string("RIFF\x0c\0\0\0WEBPVP8L", 16));
}

void add_idx(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const std::string& bytes) {
    cases.push_back({"IDX: " + what, "idx", bytes});
    cases.push_back({"IDX, packed: " + what, "idx", packed(bytes, 1, 15 + 16)});
  };
  const auto header = [](char type, const std::vector<std::uint32_t>& sizes) {
    std::string text{0, 0, type, static_cast<char>(sizes.size())};
    for (const auto size : sizes) text += big_endian(size);
    return text;
  };
  const std::uint32_t most = 0xffffffff, two16 = 1 << 16;
  add("a wrapping product", header(8, {two16, two16, two16, two16}));
  add("the greatest sizes", header(8, {most, most, most}) + "x");
  add("255 dimensions", header(8, std::vector<std::uint32_t>(255, most)));
  add("too few values", header(8, {60000, 28, 28}) + std::string(784, 'x'));
  add("too many values", header(8, {1, 2, 2}) + std::string(5, 'x'));
  add("nothing after the sizes", header(8, {1}));
  add("another type", header(13, {1}) + std::string(4, 'x'));
  add("no dimensions", header(8, {}));
  add("half a header", header(8, {most, most}).substr(0, 7));
  add("another format", "PK\x03\x04");
  const std::string zeros(1 << 20, '\0');
  const auto bomb = packed(zeros, 400, 15 + 16);
  cases.push_back({"gzip: bomb of 400 MiB", "idx", bomb});
  cases.push_back({"gzip: two bombs in a row", "idx", bomb + bomb});
  const auto honest = packed(header(8, {100, 1 << 20}), 1, 15 + 16) + packed(zeros, 100, 15 + 16);
  cases.push_back({"gzip: right sizes, 1000:1", "idx", honest});
  cases.push_back({"gzip: cut", "idx", bomb.substr(0, 1000)});
  cases.push_back({"gzip: damaged", "idx", "\x1f\x8b\x08" + std::string(100, '\x55')});
}

}  // namespace

std::string packed(const std::string& bytes, std::size_t times, int window) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) != Z_OK) throw std::logic_error("deflate");
  std::string out, room(1 << 16, '\0');
  for (std::size_t i = 1; i <= times; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(room.data());
      stream.avail_out = static_cast<uInt>(room.size());
      deflate(&stream, i == times ? Z_FINISH : Z_NO_FLUSH);
      out.append(room, 0, room.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return out;
}

std::vector<Case> images() {
  std::vector<Case> cases;
  add_pngs(cases);
  add_jpegs(cases);
  add_webps(cases);
  add_idx(cases);
  return cases;
}

}  // namespace flowtrain::hostile
