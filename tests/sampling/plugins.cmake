# Plugins for plugin_test.cpp, most of them broken on purpose; built from the interface headers alone.
foreach(plugin no_entry other_abi other_size empty_table bad_default fails texts)
  add_library(test_plugin_${plugin} MODULE sampling/plugins/${plugin}.cpp)
  set_target_properties(test_plugin_${plugin} PROPERTIES PREFIX "" OUTPUT_NAME ${plugin}
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test_plugins)
  add_dependencies(test_sampling test_plugin_${plugin})
endforeach()
add_dependencies(test_sampling flowtrain_example_plugin)
