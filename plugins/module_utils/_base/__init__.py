# Private: errors, programs, changes, files, locks and waits; used on hosts and on the controller.
