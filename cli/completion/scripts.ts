/** What a shell is given: it hands the words of the line to `mesh complete`, and falls back to files where that offers none. */
export const completionScripts = {
  bash: `_mesh_complete() {
  local IFS=$'\\n'
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=($("\${COMP_WORDS[0]}" complete -- "\${words[@]}" 2>/dev/null))
}
complete -o default -F _mesh_complete mesh`,
  zsh: `#compdef mesh
_mesh() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  candidates=(\${candidates:#})
  if (( \${#candidates} )); then compadd -a candidates; else _files; fi
}
compdef _mesh mesh`,
  fish: `function __mesh_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] complete -- $words[2..-1] 2>/dev/null
end
complete -c mesh -f -a '(__mesh_complete)'`,
} as const;
