# Writes OUTPUT, a C++ file with the texts of STYLE, SCRIPTS (separated by |) and the PLOTTER: see page_files.h.
# The scripts share one scope, which is closed to others.
function(append_text name)
  set(all "")
  foreach(file ${ARGN})
    file(READ ${file} hex HEX)
    # "//# sourceMappingURL=…" or "/*# …" at the end, which a browser's tools would load
    string(REGEX REPLACE "2f2[fa]2320736f757263654d617070696e6755524c3d[0-9a-f]*$" "" hex "${hex}")
    string(APPEND all ${hex})
  endforeach()
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${all}")
  string(REGEX REPLACE "((.....................){5})" "\\1\n" bytes "${bytes}")
  file(APPEND ${OUTPUT} "constexpr char ${name}_bytes[] = {\n${bytes}};\n"
                        "const std::string_view ${name}(${name}_bytes, sizeof ${name}_bytes);\n")
endfunction()

string(REPLACE "|" ";" scripts "${SCRIPTS}")
file(WRITE ${OUTPUT} "#include \"pipeline/runs/report_page/page_files.h\"\n\nnamespace flowtrain::page_files {\n")
append_text(style ${PLOTTER_STYLE} ${STYLE})
append_text(script ${scripts})
append_text(plotter ${PLOTTER})
file(APPEND ${OUTPUT} "}  // namespace flowtrain::page_files\n")
