# flowtrain_install_texts(share): installs what the program says of itself (ProgramTexts.cmake) where man and the shells
# look for it.
function(flowtrain_install_texts share)
  install(FILES ${CMAKE_BINARY_DIR}/flowtrain.1 DESTINATION ${share}/man/man1)
  install(FILES ${CMAKE_BINARY_DIR}/flowtrain.bash DESTINATION ${share}/bash-completion/completions RENAME flowtrain)
  install(FILES ${CMAKE_BINARY_DIR}/flowtrain.zsh DESTINATION ${share}/zsh/site-functions RENAME _flowtrain)
  install(FILES ${CMAKE_BINARY_DIR}/flowtrain.fish DESTINATION ${share}/fish/vendor_completions.d)
endfunction()
