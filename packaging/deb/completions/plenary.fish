# Completion for fish, from the installed program.
plenary completions fish | source
