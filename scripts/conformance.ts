console.error('The conformance runner is not written yet.')
process.exit(1)
