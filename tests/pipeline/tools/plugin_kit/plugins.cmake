# Plugins for plugin_kit_test.cpp: sound ones, and those that break one rule each. The test states the check that names
# each of these.
foreach(kind sound broken)
  file(GLOB sources CONFIGURE_DEPENDS pipeline/tools/plugin_kit/${kind}/*.cpp)
  foreach(source ${sources})
    get_filename_component(plugin ${source} NAME_WE)
    add_library(${kind}_plugin_${plugin} MODULE ${source})
    set_target_properties(${kind}_plugin_${plugin} PROPERTIES PREFIX "" OUTPUT_NAME ${plugin}
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${kind}_plugins)
    add_dependencies(test_plugin_kit ${kind}_plugin_${plugin})
  endforeach()
endforeach()
add_dependencies(test_plugin_kit flowtrain_example_plugin test_plugin_texts)
