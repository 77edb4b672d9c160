#include "sampling/audio/sound.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <stdexcept>

#include "sampling/audio/libsndfile.h"
#include "sampling/audio/mp3.h"
#include "sampling/audio/ogg.h"
#include "sampling/core/error.h"
#include "sampling/core/random.h"
#include "sampling/core/text.h"
#include "sampling/io/descriptor.h"
#include "tests/support/failure_helper.h"
#include "tests/support/skip.h"
#include "tests/support/sounds.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::sound_test {
namespace {

Sound decoded(const std::string& file, Silence silence = Silence::refuse) {
  Sound sound;
  decode_sound(std::as_bytes(std::span(file)), sound, silence);
  const auto form = sound_form(std::as_bytes(std::span(file)));
  CHECK(form.frames == sound.frames());
  CHECK(form.channels == sound.channels);
  CHECK(form.rate == sound.rate);
  return sound;
}

void check_refused(const std::string& file, const std::string& part) {
  INFO("expected: " << part);
  const std::string what = failure_of<SampleError>([&] { decoded(file); }).what();
  INFO("message: " << what);
  CHECK(what.find(part) != what.npos);
}

template <class Number>
std::string as_text(std::initializer_list<Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(Number)};
}

TEST_CASE("sounds: a WAV file gives the samples that were written, of any channels and rate") {
  for (const std::uint32_t channels : {1u, 2u, 8u})
    for (const std::uint32_t rate : {8000u, 16000u, 96000u}) {
      const auto sound = tone(1001, channels, rate);
      const auto again = decoded(wav_of(sound));
      CHECK(again.samples == sound.samples);
      CHECK(again.channels == channels);
      CHECK(again.rate == rate);
    }
}

TEST_CASE("sounds: integers of all widths, floats and doubles are multiples of full scale") {
  using Floats = std::vector<float>;
  const auto samples = [](int tag, int bits, const std::string& bytes) {
    return decoded(raw_wav(tag, bits, 1, bytes, static_cast<std::uint32_t>(bytes.size()))).samples;
  };
  CHECK(samples(1, 8, as_text<std::uint8_t>({0, 128, 192})) == Floats{-1, 0, 0.5f});
  CHECK(samples(1, 16, as_text<std::int16_t>({-32768, 0, 16384})) == Floats{-1, 0, 0.5f});
  CHECK(samples(1, 24, std::string("\0\0\x80\0\0\0\0\0\x40", 9)) == Floats{-1, 0, 0.5f});
  CHECK(samples(1, 32, as_text<std::int32_t>({std::numeric_limits<std::int32_t>::min(), 0, 1 << 30})) ==
        Floats{-1, 0, 0.5f});
  CHECK(samples(3, 32, as_text<float>({-1, 0, 1.5f})) == Floats{-1, 0, 1.5f});
  CHECK(samples(3, 64, as_text<double>({-1, 0, 1.5})) == Floats{-1, 0, 1.5f});
  const auto clipped = decoded(wav_of({{2, -2, 0.5f}, 1, 16000})).samples;
  CHECK(clipped == Floats{32767.f / 32768, -1, 0.5f});
}

TEST_CASE("sounds: the size of a WAV file that was written to a pipe is that of the file") {
  CHECK(decoded(raw_wav(1, 16, 1, as_text<std::int16_t>({1, 2, 3}), 0xffffffff)).frames() == 3);
}

TEST_CASE("sounds: RF64 tells its size in a chunk of its own") {
  const auto rf64 = [](std::uint64_t told) {
    auto file = raw_wav(1, 16, 1, as_text<std::int16_t>({1, 2, 3}), 0xffffffff);
    file.replace(0, 4, "RF64");
    const auto sizes = as_text<std::uint64_t>({file.size() + 28, told, 3});
    return file.insert(12, std::string("ds64\x1c\0\0\0", 8) + sizes + std::string(4, '\0'));
  };
  CHECK(decoded(rf64(6)).frames() == 3);
  CHECK(decoded(rf64(4)).frames() == 2);
  CHECK(decoded(rf64(std::numeric_limits<std::uint64_t>::max())).frames() == 3);
  check_refused(rf64(40), "the header promises 20 frames, but the file holds 3");
}

TEST_CASE("sounds: damaged recordings are refused with the reason") {
  const auto samples = as_text<std::int16_t>({1, 2, 3, 4});
  check_refused("", "the file is empty");
  check_refused("hello, this is a text", "no WAV, FLAC, Ogg or MP3 file");
  check_refused(raw_wav(1, 16, 2, samples, 80), "the header promises 20 frames, but the file holds 2");
  check_refused(raw_wav(6, 8, 1, samples, 20), "the header promises 20 bytes of samples, but the file holds 8");
  check_refused(raw_wav(1, 16, 1, "", 0), "holds 0 frames");
  check_refused(raw_wav(1, 16, 1, std::string("LIST\4\0\0\0abcd", 12), 0), "holds 0 frames");
  CHECK(decoded(raw_wav(1, 16, 1, samples, 0)).frames() == 4);  // of a writer that was stopped
  check_refused(raw_wav(1, 16, 1, samples + std::string("data\4\0\0\0abcd", 12), 8), "a second chunk 'data' follows");
  check_refused(raw_wav(1, 16, 0, samples, 8), "0 channels of 16 bits");
  check_refused(raw_wav(1, 12, 1, samples, 8), "1 channels of 12 bits");
  check_refused(raw_wav(1, 16, 1, samples, 8, 0), "0 frames a second");
  check_refused(raw_wav(1, 16, 1, samples, 8).substr(0, 36), "no chunk 'data'");
  auto endless = raw_wav(1, 16, 1, std::string("data\4\0\0\0abcd", 12), 0xffffffff);
  endless.replace(36, 4, "LIST");  // a chunk that ends behind every file, and is no step of 0 bytes
  check_refused(endless, "no chunk 'data'");
  check_refused(raw_wav(3, 32, 1, as_text<float>({0, std::numeric_limits<float>::quiet_NaN()}), 8),
                "frame 1 holds NaN");
  check_refused(raw_wav(3, 64, 1, as_text<double>({0, 1e300}), 16), "frame 1 holds an infinite value");
  check_refused(wav_of({std::vector<float>(100), 1, 16000}), "the recording is silent");
}

TEST_CASE("sounds: a WAV file with more sound than its header tells of is refused, and other things behind are not") {
  const auto samples = as_text<std::int16_t>({1, 2, 3, 4}), more = as_text<std::int16_t>({300, 5, 6, 7, 8, 9, 10, 11});
  const auto wav = raw_wav(1, 16, 1, samples, 8);
  check_refused(wav + more, "the header promises 8 bytes of samples, but 16 other bytes follow them");
  check_refused(raw_wav(6, 8, 1, samples + more, 8), "but 16 other bytes follow them");
  check_refused(wav + wav, "a second WAV file follows the first one");
  const std::string list("LIST\4\0\0\0abcd", 12), second("data\4\0\0\0abcd", 12);
  check_refused(wav + list + second, "a second chunk 'data' follows");
  check_refused(wav + list + more, "but 16 other bytes follow them");
  const std::string odd("LIST\3\0\0\0abc", 11), cut("LIST\x40\0\0\0 more of it", 19);
  std::string notes;
  for (int i = 0; i < 300; ++i) notes += list;
  for (auto& behind : {list, concat(list, odd, std::string(1, '\0'), list), odd + list, cut, std::string(64, '\0'),
                       notes, std::string(64, '\xff'), std::string(32, '\0') + list,
                       std::string("<?xml version=\"1.0\"?>"), "TAG" + std::string(125, ' '), more.substr(0, 15)})
    CHECK(decoded(wav + behind).frames() == 4);
}

TEST_CASE("sounds: a silent recording is kept where that is asked for") {
  CHECK(decoded(wav_of({std::vector<float>(100), 1, 16000}), Silence::keep).frames() == 100);
}

TEST_CASE("sounds: a segment of a WAV file has exactly its frames") {
  TempFolder temp;
  const auto sound = tone(1600, 2);
  const auto path = temp.write("a.wav", "junk" + wav_of(sound));
  const auto file = Descriptor::file(path.c_str());
  std::vector<std::byte> segment;
  const auto cut = [&](double begin, double end) {
    cut_sound(file, 4, file.size_bytes() - 4, begin, end, segment);
    return decoded(bytes_of(segment)).samples;
  };
  CHECK(cut(0.01, 0.02) == std::vector(sound.samples.begin() + 320, sound.samples.begin() + 640));
  CHECK(cut(0.05, -1) == std::vector(sound.samples.begin() + 1600, sound.samples.end()));
  CHECK(cut(0, 0.15) == sound.samples);  // a list may be rounded
  for (const auto& range : {std::pair(0.05, 0.25), std::pair(0.1, -1.0), std::pair(0.05, 0.05)})
    failure_of<SampleError>([&] { cut(range.first, range.second); });
}

TEST_CASE("sounds: a segment of samples that can only be read whole is refused with the way out") {
  SKIP_UNLESS(has_libsndfile(), "libsndfile1", "the library is not installed");
  TempFolder temp;
  const std::uint32_t blocks = 20, block_bytes = 65, block_frames = 320, rate = 8000;
  std::string noise(blocks * block_bytes, '\0');
  Stream random(1, Purpose::sample, 1);
  for (char& each : noise) each = static_cast<char>(random.below(256));
  auto file = raw_wav(49, 0, 1, noise, blocks * block_bytes, rate);  // GSM 6.10
  const auto extension = as_text<std::uint16_t>({2, block_frames});
  file.replace(16, 1, 1, char(20));
  file.replace(28, 8, as_text<std::uint32_t>({rate * block_bytes / block_frames, block_bytes}));
  file.insert(36, extension + "fact" + as_text<std::uint32_t>({4, blocks * block_frames}));
  CHECK(decoded(file).frames() == blocks * block_frames);
  const auto path = temp.write("a.wav", file);
  const auto source = Descriptor::file(path.c_str());
  std::vector<std::byte> segment;
  const auto error = failure_of<SampleError>([&] { cut_sound(source, 0, source.size_bytes(), 0.1, 0.2, segment); });
  CHECK(std::string(error.what()) ==
        "the samples of this WAV file can only be read whole, so it has no segments: convert it to a FLAC file "
        "(ffmpeg -i IN OUT.flac)");
  cut_sound(source, 0, source.size_bytes(), 0, 0.1, segment);
  CHECK(decoded(bytes_of(segment)).frames() == rate / 10);
}

TEST_CASE("sounds: FLAC is lossless, also of segments, and a cut file is refused") {
  SKIP_UNLESS(has_libsndfile(), "libsndfile1", "the library is not installed");
  TempFolder temp;
  const auto sound = tone(20000, 2);
  const auto flac = flac_of(sound);
  CHECK(flac.size() < wav_of(sound).size());
  CHECK(decoded(flac).samples == sound.samples);
  auto fine = sound;
  fine.samples[7] = 0x1p-23f;
  CHECK(decoded(flac_of(fine)).samples == fine.samples);
  fine.samples[7] = 0x1p-30f;
  std::vector<std::byte> none;
  CHECK_FALSE(encode_flac(fine, none));
  const auto path = temp.write("a.flac", flac);
  const auto file = Descriptor::file(path.c_str());
  CHECK(sound_form(file, 0, file.size_bytes()).frames == 20000);
  std::vector<std::byte> segment;
  cut_sound(file, 0, file.size_bytes(), 0.5, 1, segment);
  CHECK(decoded(bytes_of(segment)).samples ==
        std::vector(sound.samples.begin() + 16000, sound.samples.begin() + 32000));
  check_refused(flac.substr(0, flac.size() / 2), "damaged FLAC file");
  auto lying = flac;
  lying[22] = '\1';  // the number of frames
  check_refused(lying, "only 20000 of 16797216 frames can be read");
  lying = flac;
  lying[24] = '\x4e', lying[25] = '\x1f';  // 19999 frames
  check_refused(lying, "more sound follows behind the 19999 frames that the header tells of");
  check_refused(flac + flac, concat("at byte ", flac.size(), " a second FLAC stream follows"));
  CHECK(decoded(flac + "TAG" + std::string(125, 'x')).samples == sound.samples);
}

/// A page of Ogg with one segment. Its checksum is computed bit by bit.
std::string ogg_page(char flags, char number, const std::string& body) {
  std::string page("OggS\0_________abcd\0\0\0\0____\1", 27);
  page.replace(6, 8, 8, '\0');
  page[5] = flags;
  page[18] = number;
  page.replace(22, 4, 4, '\0');
  page += static_cast<char>(body.size());
  page += body;
  std::uint32_t sum = 0;
  for (const char byte : page) {
    sum ^= static_cast<std::uint32_t>(static_cast<unsigned char>(byte)) << 24;
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 31 ? sum << 1 ^ 0x04c11db7u : sum << 1;
  }
  std::memcpy(page.data() + 22, &sum, sizeof sum);
  return page;
}

TEST_CASE("sounds: pages of Ogg files that are damaged or missing are found, which libsndfile skips") {
  const auto check = [](const std::string& file) { check_ogg_pages(std::as_bytes(std::span(file))); };
  const auto refused = [&](const std::string& file, const std::string& part) {
    const std::string what = failure_of<SampleError>([&] { check(file); }).what();
    INFO("message: " << what);
    CHECK(what.find(part) != what.npos);
  };
  // The first page of a file that libvorbis wrote.
  const std::string real(
      "OggS\0\2\0\0\0\0\0\0\0\0\xfc\x94\xbf\x2f\0\0\0\0\x52\x66\x0f\xa2\1\x1e\1vorbis\0\0\0\0\1\x80>\0\0\0\0\0\0"
      "\xc0\xda\0\0\0\0\0\0\xa9\1",
      58);
  check(real);
  const auto first = ogg_page(2, 0, "begin"), middle = ogg_page(0, 1, "some"), last = ogg_page(4, 2, "end");
  check(first + middle + last);
  check(first + middle);                       // not all encoders mark the end
  check(first + middle + last + "TAG title");  // behind the end
  check(real + first + middle + last);         // two streams at once
  // One stream behind the other.
  refused(first + middle + last + first + middle + last, "at byte 96 a second Ogg stream follows");
  auto flipped = first + middle + last;
  flipped[first.size() + middle.size() - 1] ^= 1;
  refused(flipped, "the page at byte 33 does not have the bytes of its checksum");
  refused(first + last, "at byte 33 there is page 2 of a stream, but page 1 should follow");
  refused(first + middle.substr(0, 30), "the page at byte 33 is cut off");
  refused(first + middle.substr(0, 5), "the page at byte 33 is cut off");
  refused(first + "noise", "the page at byte 33 is cut off, or other bytes are in its place");
  check_refused(flipped, "the page at byte 33");
}

/// Bytes of which those from `end` on cannot be read while it is set.
class FailingSource final : public ByteSource {
 public:
  explicit FailingSource(std::string bytes) : bytes_(std::move(bytes)) {}

  std::uint64_t size_bytes() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (end > 0 && offset + into.size() > end) throw std::runtime_error("the disk failed");
    if (offset >= bytes_.size()) return 0;
    return static_cast<std::size_t>(bytes_.copy(reinterpret_cast<char*>(into.data()), into.size(), offset));
  }
  std::uint64_t end = 0;

 private:
  std::string bytes_;
};

/// Returns MP3 frames of silence, MPEG-1 at 44.1 kHz and mono, with these numbers of the table of bit rates.
std::string mp3_frames(const std::vector<int>& rates) {
  constexpr std::size_t kilobits[] = {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320};
  std::string frames;
  for (const int rate : rates) {
    std::string frame(144'000 * kilobits[rate] / 44100, '\0');
    frame.replace(0, 4, {'\xff', '\xfb', static_cast<char>(rate << 4), '\xc0'});
    frames += frame;
  }
  return frames;
}

/// Returns a frame with the header "Xing" of so many frames behind it.
std::string xing_frame(char frames) {
  auto frame = mp3_frames({5});
  return frame.replace(4 + 17, 12, std::string("Xing\0\0\0\1\0\0\0", 11) + frames);
}

bool has_mp3() { return has_libsndfile() && reads_mp3(libsndfile().version_string()); }

TEST_CASE("sounds: an MP3 file without a header of its length has the frames that are there, at any bit rates") {
  SKIP_UNLESS(has_mp3(), "libsndfile1", "the library is not installed, or reads no MP3 files");
  const auto frames_of = [](const std::string& file) { return decoded(file, Silence::keep).frames(); };
  std::vector<int> rising(40, 1), falling(40, 14);  // a guess by the first frame is too great, or too small
  rising.insert(rising.end(), 20, 14);
  falling.insert(falling.end(), 20, 1);
  for (const auto& rates : {rising, falling, std::vector<int>(60, 9)}) {
    const auto file = mp3_frames(rates);
    CHECK(frames_of(file) == 60 * 1152);
    CHECK(frames_of(std::string("ID3\4\0\0\0\0\1\0", 10) + std::string(128, 'x') + file) == 60 * 1152);
    CHECK(frames_of(file + "TAG" + std::string(125, 'x')) == 60 * 1152);
    CHECK(frames_of(file.substr(0, file.size() - 50)) == 59 * 1152);  // nothing tells of the last one
    CHECK(frames_of(file + file) == 120 * 1152);
  }
  TempFolder temp;
  const auto path = temp.write("a.mp3", mp3_frames(rising));
  const auto file = Descriptor::file(path.c_str());
  CHECK(sound_form(file, 0, file.size_bytes()).frames == 60 * 1152);
  std::vector<std::byte> segment;
  cut_sound(file, 0, file.size_bytes(), 0.5, -1, segment);
  CHECK(decoded(bytes_of(segment), Silence::keep).frames() == 60 * 1152 - 22050);
}

TEST_CASE("sounds: an MP3 file with more sound than its header tells of, or with bytes between frames, is damaged") {
  SKIP_UNLESS(has_mp3(), "libsndfile1", "the library is not installed, or reads no MP3 files");
  const auto sound = mp3_frames(std::vector<int>(20, 9));
  const auto whole = xing_frame(20) + sound;
  CHECK(decoded(whole, Silence::keep).frames() > 19 * 1152);
  check_refused(whole + whole,
                concat("damaged MP3 file: at byte ", whole.size(), " more sound follows behind the 20 "));
  check_refused(xing_frame(19) + sound, "more sound follows behind the 19 frames that the header tells of");
  check_refused(whole.substr(0, whole.size() / 2), "damaged MP3 file, for libsndfile");
  check_refused(sound + std::string(9, 'x') + sound, concat("at byte ", sound.size(), " there are 9 other bytes"));
}

TEST_CASE("sounds: headers of MP3 frames that lie, end early or are damaged do no harm") {
  auto file = std::string("ID3\4\0\x10\x7f\x7f\x7f\x7f", 10) + xing_frame(20) + mp3_frames(std::vector<int>(20, 9));
  Stream random(1, Purpose::sample, 1);
  for (std::size_t round = 0; round < 2000; ++round) {
    auto damaged = file.substr(round % 3 == 0 ? 0 : 10, random.below(file.size()));
    for (std::size_t i = 0; i < round % 7 && !damaged.empty(); ++i)
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const FailingSource source(damaged);
    try {
      const auto start = mp3_start(source);
      const auto frames = start ? count_mp3_frames(source, *start) : 0;
      CHECK(frames <= damaged.size() / 24);
    } catch (const SampleError&) {
    }
  }
  const FailingSource ones(std::string(100'000, '\xff'));
  CHECK_FALSE(mp3_start(ones));
}

TEST_CASE("sounds: versions of libsndfile before 1.1 read no MP3 files") {
  for (const char* old : {"libsndfile-1.0.31", "libsndfile-1.0.25pre"}) CHECK_FALSE(reads_mp3(old));
  for (const char* newer : {"libsndfile-1.1.0beta1", "libsndfile-1.2.2", "libsndfile-1.10.0", "libsndfile-2.0", "x"})
    CHECK(reads_mp3(newer));
}

TEST_CASE("sounds: a window that could not be read is read anew") {
  FailingSource source(std::string(5000, 'a') + std::string(5000, 'b'));
  const ScanWindow window(source, 4096, 4096);
  std::array<std::byte, 100> bytes{};
  CHECK(window.read_at(0, bytes) == bytes.size());
  source.end = 5000;
  CHECK_THROWS_AS(window.read_at(6000, bytes), std::runtime_error);
  source.end = 0;
  CHECK(window.read_at(6000, bytes) == bytes.size());
  CHECK(bytes.back() == std::byte{'b'});
}

TEST_CASE("sounds: a disk that fails is no damage of the recording, whatever libsndfile makes of it") {
  SKIP_UNLESS(has_libsndfile(), "libsndfile1", "the library is not installed");
  FailingSource source(flac_of(tone(200000, 2)));
  std::vector<std::byte> segment;
  for (const std::uint64_t end : {100, 5000, 50000, 150000}) {
    INFO("the disk fails from byte " << end);
    REQUIRE(end < source.size_bytes());
    source.end = end;
    const auto error =
        failure_of<std::runtime_error>([&] { cut_sound(source, 0, source.size_bytes(), 10, -1, segment); });
    CHECK(std::string(error.what()) == "the disk failed");
  }
}

}  // namespace
}  // namespace flowtrain::sound_test
