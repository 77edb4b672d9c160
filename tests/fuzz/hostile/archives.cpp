// Tar archives: whatever leads out of them or is no file is not there, and so these data sets are empty.

#include "tests/fuzz/hostile/hostile.h"
#include "tests/support/tar_helper.h"

namespace flowtrain::hostile {
namespace {

/// Links that lead out of the archive, nowhere, in circles, or to more and more folders.
template <class Add>
void add_links(const Add& add) {
  for (const std::string target :
       {"../up/a.jpg", "../../../../../../tmp/a.jpg", "/etc/passwd", "//etc/passwd", "a.jpg", "../c/a.jpg",
        "c/../../a.jpg", "c/..", "..", ".", "/", "nothing.jpg", "../../a.jpg", ""}) {
    const TarBytes::Field field{157, target};
    add("symbolic link to " + target, TarBytes().entry("c/a.jpg", "", '2', {field}).end());
    add("hard link to " + target, TarBytes().entry("c/a.jpg", "", '1', {field}).end());
  }
  TarBytes folders;  // each level lists the next one twice
  for (const char level : std::string("abcdefghijklmnop")) {
    const std::string name(1, level), next = std::string("../") + static_cast<char>(level + 1);
    folders.entry(name + "/1", "", '2', {{157, next}}).entry(name + "/2", "", '2', {{157, next}});
  }
  add("links that multiply", folders.entry("q/a.txt", "data").end());
}

}  // namespace

std::vector<Case> archives() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& what, const std::string& bytes) {
    for (const char* reader : {"image_folder", "webdataset"}) cases.push_back({"tar: " + what, reader, bytes});
  };
  const std::string names[] = {
      "../up/a.jpg", "../../../../../../tmp/a.jpg", "c/../../a.jpg", "./../c/a.jpg", "c/..", "..",
      "/",           "c/d/../../../a.jpg",          ".//../c/a.jpg"};
  for (const auto& name : names) {
    add("name " + name, TarBytes().entry(name, "data").end());
    add("long name " + name, TarBytes().entry("l", name + '\0', 'L').entry("c/a.jpg", "data").end());
    add("pax name " + name, TarBytes().pax("path", name).entry("c/a.jpg", "data").end());
  }
  add_links(add);
  for (const char type : {'3', '4', '5', '6'})
    add(std::string("device, folder or pipe ") + type, TarBytes().entry("c/a.jpg", "", type).end());

  const auto sized = [](std::string_view size) {
    return TarBytes().entry("c/a.jpg", "data", '0', {{124, size}}).end();
  };
  add("the greatest octal size", sized("77777777777"));
  add("a size of 2^62", sized(std::string_view("\x80\0\0\0\x40\0\0\0\0\0\0\0", 12)));
  add("a size of 2^90", sized(std::string_view("\x80\x40\0\0\0\0\0\0\0\0\0\0", 12)));
  add("a negative size", sized("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
  add("a size that is no number", sized("12x45678901"));
  for (const char* size : {"18446744073709551615", "9223372036854775807", "18446744073709551616", "-1", "1e9", ""})
    add(std::string("pax size ") + size, TarBytes().pax("size", size).entry("c/a.jpg", "data").end());
  add("a name of 1 GiB", TarBytes().entry("l", "", 'L', {{124, "10000000000"}}).end());
  add("pax records of wrong lengths", TarBytes().entry("p", "99999999999999999999 path=x\n", 'x').end());
  add("a pax record of no length", TarBytes().entry("p", "0 =\n", 'x').end());
  add("a sparse file", TarBytes().entry("c/a.jpg", "data", 'S').end());
  add("a sparse file in pax", TarBytes().pax("GNU.sparse.major", "1").entry("c/a.jpg", "data").end());
  add("no end", TarBytes().entry("c/a.jpg", "data").bytes());
  auto renamed = TarBytes().entry("c/a.jpg", "data").end();
  renamed[0] = 'd';
  add("a wrong checksum", renamed);
  add("compressed", packed(TarBytes().entry("c/a.jpg", std::string(1 << 20, 'x')).end(), 100, 15 + 16));
  return cases;
}

}  // namespace flowtrain::hostile
